#include "base/nearest.h"

#include <gtest/gtest.h>

namespace dcpctl {
namespace {

using Names = std::vector<std::string>;

const Names kCommands = {"inspect", "verify", "compare", "convert", "reshard"};

TEST(NearestNames, FindsSlips) {
  EXPECT_EQ(NearestNames("inspct", kCommands), Names{"inspect"});
  EXPECT_EQ(NearestNames("verfiy", kCommands), Names{"verify"});
  EXPECT_EQ(NearestNames("conver", kCommands)[0], "convert");
}

TEST(NearestNames, GivesTheNearestFirst) {
  EXPECT_EQ(NearestNames("abcd", Names{"abXY", "abcX", "abcd"}), (Names{"abcd", "abcX", "abXY"}));
  EXPECT_EQ(NearestNames("abcd", Names{"abcX", "abcY"}), (Names{"abcX", "abcY"})) << "ties keep their order";
}

TEST(NearestNames, LeavesOutWhatIsFar) {
  EXPECT_EQ(NearestNames("frobnicate", kCommands), Names{});
  EXPECT_EQ(NearestNames("x", Names{}), Names{});
}

TEST(NearestNames, TakesPartsOfNames) {
  EXPECT_EQ(NearestNames("weight", Names{"layers.0.attention.weight", "step"}), Names{"layers.0.attention.weight"});
}

TEST(NearestNames, StopsAtMost) {
  const Names many = {"a1", "a2", "a3", "a4", "a5"};
  EXPECT_EQ(NearestNames("a", many).size(), 3u);
  EXPECT_EQ(NearestNames("a", many, 2), (Names{"a1", "a2"}));
  EXPECT_EQ(NearestNames("a", many, 0), Names{});
}

TEST(NearestNames, SurvivesLongNames) {
  const std::string name(100'000, 'x');
  EXPECT_EQ(NearestNames(name, Names{std::string(99'999, 'x') + "y", "z"}).size(), 1u);
  EXPECT_EQ(NearestNames("", Names{"", "abc"}), Names{""});
}

}  // namespace
}  // namespace dcpctl
