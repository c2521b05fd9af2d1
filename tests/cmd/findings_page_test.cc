// dcpctl-findings(7) has every id that the program can give, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace dcpctl {
namespace {

namespace fs = std::filesystem;

using Ids = std::set<std::string>;

std::string Slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Collect(const std::string& text, const std::regex& pattern, Ids& ids) {
  for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at)
    ids.insert((*at)[1]);
}

// Ids are whole literals. Modules of PyTorch look the same but have no hyphen.
Ids IdsOfTheProgram() {
  const std::regex literal(
      "\"((?:(?:compare|convert|dcp|file|keys|manifest|object|payload|repair|reshard|values|zip)\\.[a-z-]+)|torch\\.(?:"
      "truncated|[a-z]+-[a-z-]+))\"");
  Ids ids;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(DCPCTL_SOURCE_DIR) / "lib")) {
    if (entry.path().extension() == ".cc" || entry.path().extension() == ".h")
      Collect(Slurp(entry.path()), literal, ids);
  }
  return ids;
}

TEST(Manual, FindingsAreThoseOfTheProgram) {
  Ids page;
  Collect(Slurp(fs::path(DCPCTL_SOURCE_DIR) / "man" / "dcpctl-findings.7"), std::regex("\n\\.It Li ([a-z.-]+) Pq "),
          page);
  EXPECT_THAT(page, testing::ContainerEq(IdsOfTheProgram()));
  EXPECT_GT(page.size(), 40U);
}

}  // namespace
}  // namespace dcpctl
