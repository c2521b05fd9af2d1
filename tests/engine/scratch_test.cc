#include "engine/scratch.h"

#include <gtest/gtest.h>

namespace dcpctl::engine {
namespace {

TEST(Scratch, FindsWhatItKept) {
  std::vector<std::byte> memory(100);
  Scratch scratch(memory, true);
  EXPECT_TRUE(scratch.Kept(1, 0, 10).empty());
  const auto room = scratch.Keep(1, 50, 40);
  EXPECT_EQ(room.size(), 40u);
  EXPECT_EQ(scratch.Kept(1, 50, 40).data(), room.data());
  EXPECT_EQ(scratch.Kept(1, 60, 30).data(), room.data() + 10);
  EXPECT_TRUE(scratch.Kept(1, 49, 2).empty());
  EXPECT_TRUE(scratch.Kept(1, 60, 31).empty());
  EXPECT_TRUE(scratch.Kept(1, 91, 1).empty());
  EXPECT_TRUE(scratch.Kept(2, 50, 40).empty());
}

TEST(Scratch, KeepsSeveralWhileThereIsRoom) {
  std::vector<std::byte> memory(100);
  Scratch scratch(memory, true);
  const auto first = scratch.Keep(1, 0, 40);
  const auto second = scratch.Keep(2, 0, 60);
  EXPECT_EQ(second.data(), first.data() + 40);
  EXPECT_FALSE(scratch.Kept(1, 0, 40).empty());
  EXPECT_EQ(scratch.Keep(3, 0, 1).data(), memory.data());
  EXPECT_TRUE(scratch.Kept(1, 0, 40).empty());
  EXPECT_TRUE(scratch.Kept(2, 0, 60).empty());
}

TEST(Scratch, ForgetsWhenItIsUsedOtherwise) {
  std::vector<std::byte> memory(100);
  Scratch scratch(memory, true);
  scratch.Keep(1, 0, 10);
  EXPECT_EQ(scratch.Use(20).size(), 20u);
  EXPECT_TRUE(scratch.Kept(1, 0, 10).empty());
  scratch.Keep(1, 0, 10);
  EXPECT_EQ(scratch.Use().size(), 100u);
  EXPECT_TRUE(scratch.Kept(1, 0, 10).empty());
}

}  // namespace
}  // namespace dcpctl::engine
