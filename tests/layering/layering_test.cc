#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "layering/layers.h"

namespace dcpctl::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::filesystem::path kRoot = DCPCTL_SOURCE_DIR;

std::string Slurp(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The C++ files below `folder`, sorted.
std::vector<SourceFile> Sources(const std::string& folder) {
  std::vector<SourceFile> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
    const std::string extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc" && extension != ".def")) continue;
    files.push_back({entry.path().lexically_relative(kRoot).generic_string(), Slurp(entry.path())});
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> AllSources() {
  std::vector<SourceFile> all;
  for (const char* folder : {"include", "lib", "cmd"}) {
    for (SourceFile& file : Sources(folder)) all.push_back(std::move(file));
  }
  return all;
}

TEST(Layering, TheTreeKeepsTheRules) {
  const std::vector<SourceFile> files = AllSources();
  ASSERT_GT(files.size(), 20u) << "the sources were not found below " << kRoot;
  std::string problems;
  for (const std::string& problem : CheckLayers(files)) problems += problem + "\n";
  EXPECT_EQ(problems, "");
}

TEST(Layering, EverySourceIsNamedInItsFoldersCMakeLists) {
  for (const char* folder : {"lib", "cmd", "tests"}) {
    for (const SourceFile& file : Sources(folder)) {
      const std::filesystem::path path = kRoot / file.path;
      if (path.extension() != ".cc") continue;
      const std::filesystem::path list = path.parent_path() / "CMakeLists.txt";
      EXPECT_THAT(Slurp(list), ::testing::ContainsRegex("[^a-z0-9_]" + path.filename().string()))
          << file.path << " is missing from " << list.lexically_relative(kRoot);
    }
  }
}

TEST(Layering, RejectsAnIncludeOfAHigherFolder) {
  EXPECT_THAT(
      CheckLayers({{"lib/zip/read.h", "#pragma once\n\n#include \"engine/runner.h\"\n"},
                   {"lib/engine/runner.h", "#include \"base/result.h\"\n"},
                   {"lib/base/result.h", ""}}),
      ElementsAre("lib/zip/read.h:3: zip may not include lib/engine/runner.h (it may include base, public, zip)"));
}

TEST(Layering, AllowsWhatLiesBelowWhatIsAllowed) {
  EXPECT_THAT(
      CheckLayers({{"cmd/main.cc", "#include <csignal>\n#include \"base/result.h\"\n#include \"cmd/groups.h\"\n"},
                   {"cmd/groups.h", "#include \"dcpctl/error.h\"\n"},
                   {"include/dcpctl/error.h", "#include <tl/expected.hpp>\n"},
                   {"lib/base/result.h", "#include \"dcpctl/error.h\"\n#include <zstd_errors.h>\n"}}),
      IsEmpty());
}

TEST(Layering, KeepsTheSystemInIo) {
  EXPECT_THAT(CheckLayers({{"lib/io/file.cc", "#include <unistd.h>\n#ifdef __linux__\n#endif\n"},
                           {"lib/plan/plan.cc", "#include <sys/stat.h>\n#include <chrono>\n#ifdef __linux__\n#endif\n"},
                           {"cmd/groups.cc", "#include <csignal>\n"}}),
              ElementsAre("lib/plan/plan.cc:1: plan may not include <sys/stat.h> (only io, plugin, plugin/cuda, "
                          "plugin/mpi, plugin/torch may)",
                          "lib/plan/plan.cc:2: plan may not include <chrono>: it is pure",
                          "lib/plan/plan.cc:3: #ifdef is only for lib/io and lib/plugin",
                          "cmd/groups.cc:1: cmd may not include <csignal> (only cmd/main.cc, io may)"));
}

TEST(Layering, RejectsInternalsInPublicHeaders) {
  EXPECT_THAT(CheckLayers({{"include/dcpctl/a.h", "#include \"base/b.h\"\n#  include <zlib.h>\n#include \"gone.h\"\n"},
                           {"lib/base/b.h", ""}}),
              ElementsAre("include/dcpctl/a.h:1: public may not include lib/base/b.h (it may include public)",
                          "include/dcpctl/a.h:2: public may not include <zlib.h> (only base may)",
                          "include/dcpctl/a.h:3: \"gone.h\" is no file of include/, lib/ or cmd/"));
}

TEST(Layering, WantsTheOwnHeaderFirst) {
  const std::vector<SourceFile> headers = {{"lib/zip/read.h", ""}, {"include/dcpctl/read.h", ""}};
  const auto check = [&headers](const std::string& text) {
    std::vector<SourceFile> files = headers;
    files.push_back({"lib/zip/read.cc", text});
    return CheckLayers(files);
  };
  EXPECT_THAT(check("#include <string>\n#include \"zip/read.h\"\n"),
              ElementsAre("lib/zip/read.cc:2: the file's own header lib/zip/read.h does not come first"));
  EXPECT_THAT(check("#include \"dcpctl/read.h\"\n#include <string>\n#include \"zip/read.h\"\n"), IsEmpty());
}

TEST(Layering, WantsTablesOfTextToHaveASecret) {
  const std::string text = "#pragma once\n\nstd::unordered_map<std::string, int> by_key_;\n";
  const std::string views = "#pragma once\nstd::unordered_set<std::string_view> seen;\n";
  EXPECT_THAT(CheckLayers({{"lib/base/text_hash.h", views}, {"lib/zip/a.h", text}, {"lib/ops/b.h", views}}),
              ElementsAre("lib/zip/a.h:3: a hash table of text has to be one of lib/base/text_hash.h",
                          "lib/ops/b.h:2: a hash table of text has to be one of lib/base/text_hash.h"));
}

TEST(Layering, RejectsAFolderThatIsNotListed) {
  EXPECT_THAT(CheckLayers({{"lib/extra/a.cc", ""}}),
              ElementsAre("lib/extra/a.cc:1: folder extra is not in the list of layers"));
}

}  // namespace
}  // namespace dcpctl::layers
