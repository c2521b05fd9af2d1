#include "io/file_system.h"

#include <gtest/gtest.h>

#include <set>

#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::Value;

TEST(CheckRelativeName, AcceptsNamesInside) {
  for (const std::string_view name : {"a", ".metadata", "..a", "a..", "a/..b/c", "./a", "a//b", "...", "naïve.distcp",
                                      "__0_0.distcp", "with space", "back\\slash"}) {
    EXPECT_TRUE(CheckRelativeName(name)) << name;
  }
}

TEST(CheckRelativeName, SaysWhyANameIsRefused) {
  using namespace std::string_view_literals;
  const std::vector<std::pair<std::string_view, std::string>> refused = {
      {"", "is empty"},
      {"/a", "is absolute"},
      {"a/", "ends in a slash"},
      {"..", "holds a \"..\" part"},
      {"a/..", "holds a \"..\" part"},
      {"../a", "holds a \"..\" part"},
      {"a/../b", "holds a \"..\" part"},
      {"a\0b"sv, "holds a control character"},
      {"a\rb", "holds a control character"},
      {"a\x7f", "holds a control character"},
  };
  for (const auto& [name, why] : refused) {
    const Error error = ErrorOf(CheckRelativeName(name));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
  }
}

TEST(CheckRelativeName, EscapesTheNameInItsMessage) {
  EXPECT_EQ(ErrorOf(CheckRelativeName("\x1b[2J")).message(),
            "file name \"\\x1b[2J\" holds a control character, expected a name inside the checkpoint directory");
}

TEST(SameFile, PassesErrorsOnButTakesMissingForDifferent) {
  test::MemoryFileSystem files;
  files.Put("/a", "");
  files.Put("/b", "");
  EXPECT_TRUE(Value(SameFile(files, "/a", "/../a")));
  EXPECT_FALSE(Value(SameFile(files, "/a", "/b")));
  EXPECT_FALSE(Value(SameFile(files, "/a", "/no")));
  EXPECT_FALSE(Value(SameFile(files, "/no", "/a")));
  for (const uint64_t call : {0U, 1U}) {
    files.SetFaults({.fail_call = call});
    EXPECT_EQ(ErrorOf(SameFile(files, "/a", "/b")).kind(), ErrorKind::kIo);
  }
}

TEST(IsInside, ComparesWholeParts) {
  test::MemoryFileSystem files;
  EXPECT_TRUE(Value(IsInside(files, "/a/b", "/a")));
  EXPECT_TRUE(Value(IsInside(files, "/a", "/a/")));
  EXPECT_FALSE(Value(IsInside(files, "/ab", "/a")));
  EXPECT_FALSE(Value(IsInside(files, "/a/../b", "/a")));
}

TEST(FileTypeName, NamesEachType) {
  std::set<std::string_view> names;
  for (int type = 0; type <= static_cast<int>(FileType::kOther); ++type) {
    names.insert(FileTypeName(static_cast<FileType>(type)));
  }
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(FileTypeName(FileType::kFifo), "FIFO");
}

}  // namespace
}  // namespace dcpctl::io
