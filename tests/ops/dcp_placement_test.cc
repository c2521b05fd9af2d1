#include "ops/dcp_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace dcpctl::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Piece of `entry` on `rank`; a tensor with a box.
void Add(RankLayout& layout, uint32_t entry, uint32_t rank, const Dims& offsets = {}, const Dims& sizes = {}) {
  layout.pieces.push_back(
      {.entry = entry, .rank = rank, .dims = layout.dims.size(), .dim_count = static_cast<uint32_t>(offsets.size())});
  layout.dims.insert(layout.dims.end(), offsets.begin(), offsets.end());
  layout.dims.insert(layout.dims.end(), sizes.begin(), sizes.end());
  ++layout.ranks[rank].pieces;
}

TEST(PlaceRanks, GivesEachRankThatHasAnythingAFile) {
  RankLayout layout;
  layout.ranks.resize(4);
  Add(layout, 0, 3, {0, 0}, {2, 6});
  Add(layout, 0, 1, {2, 0}, {1, 6});
  Add(layout, 2, 3);
  Add(layout, 5, 1, {0}, {7});
  DcpOutputOptions output;
  PlaceRanks(layout, output);
  ASSERT_EQ(output.files.size(), 2U);
  EXPECT_EQ(output.files[0].name, "__1_0.distcp");
  EXPECT_EQ(output.files[1].name, "__3_0.distcp");
  ASSERT_EQ(output.items.size(), 4U);
  std::vector<uint32_t> entries;
  std::vector<uint32_t> files;
  for (const auto& item : output.items) {
    entries.push_back(item.entry);
    files.push_back(item.file);
  }
  EXPECT_THAT(entries, ElementsAre(0, 0, 2, 5));
  EXPECT_THAT(files, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(output.BoxOf(output.items[1]).offsets, ElementsAre(2, 0));
  EXPECT_THAT(output.BoxOf(output.items[1]).sizes, ElementsAre(1, 6));
  EXPECT_THAT(output.BoxOf(output.items[2]).sizes, IsEmpty());
  EXPECT_THAT(output.BoxOf(output.items[3]).sizes, ElementsAre(7));
}

TEST(PlaceRanks, MakesNoFileOfNothing) {
  RankLayout layout;
  layout.ranks.resize(3);
  DcpOutputOptions output;
  PlaceRanks(layout, output);
  EXPECT_THAT(output.files, IsEmpty());
  EXPECT_THAT(output.items, IsEmpty());
}

}  // namespace
}  // namespace dcpctl::ops
