#include "dcpctl/box.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "tests/model/tiling.h"

namespace dcpctl {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(Numel, MultipliesSizes) {
  EXPECT_EQ(Numel(Dims{}), 1u);
  EXPECT_EQ(Numel(Dims{3, 4, 5}), 60u);
  EXPECT_EQ(Numel(Dims{uint64_t{1} << 32, (uint64_t{1} << 32) - 1}), kMax - (uint64_t{1} << 32) + 1);
}

TEST(Numel, HasNoAnswerAbove64Bits) { EXPECT_EQ(Numel(Dims{uint64_t{1} << 32, uint64_t{1} << 32}), std::nullopt); }

TEST(Numel, IsZeroForAZeroSizeWhateverTheOthers) { EXPECT_EQ(Numel(Dims{kMax, kMax, 0}), 0u); }

TEST(IsEmpty, NeedsAZeroSize) {
  EXPECT_TRUE(IsEmpty(Box{{1, 2}, {3, 0}}.view()));
  EXPECT_FALSE(IsEmpty(Box{{0, 0}, {1, 1}}.view()));
  EXPECT_FALSE(IsEmpty(Box{}.view()));
}

TEST(IsInside, TakesBoxesUpToTheEdge) {
  const Dims shape = {4, 6};
  EXPECT_TRUE(IsInside(Box{{0, 0}, {4, 6}}.view(), shape));
  EXPECT_TRUE(IsInside(Box{{3, 5}, {1, 1}}.view(), shape));
  EXPECT_TRUE(IsInside(Box{{4, 6}, {0, 0}}.view(), shape));
  EXPECT_FALSE(IsInside(Box{{3, 5}, {2, 1}}.view(), shape));
  EXPECT_FALSE(IsInside(Box{{5, 0}, {0, 1}}.view(), shape));
}

TEST(IsInside, IsNotFooledByOverflow) {
  EXPECT_FALSE(IsInside(Box{{kMax}, {2}}.view(), Dims{4}));
  EXPECT_FALSE(IsInside(Box{{2}, {kMax}}.view(), Dims{4}));
}

TEST(IsInside, NeedsTheSameRank) {
  EXPECT_FALSE(IsInside(Box{{0}, {1}}.view(), Dims{4, 4}));
  EXPECT_FALSE(IsInside(Box{{0, 0}, {1, 1}}.view(), Dims{4}));
  EXPECT_TRUE(IsInside(Box{}.view(), Dims{}));
}

TEST(Intersect, GivesTheCommonPart) {
  const auto common = Intersect(Box{{0, 2}, {4, 4}}.view(), Box{{3, 0}, {5, 3}}.view());
  ASSERT_TRUE(common);
  EXPECT_EQ(common->offsets, (Dims{3, 2}));
  EXPECT_EQ(common->sizes, (Dims{1, 1}));
}

TEST(Intersect, GivesNothingForNeighboursAndEmptyBoxes) {
  EXPECT_FALSE(Intersect(Box{{0}, {4}}.view(), Box{{4}, {4}}.view()));
  EXPECT_FALSE(Intersect(Box{{0, 0}, {4, 4}}.view(), Box{{0, 4}, {4, 4}}.view()));
  EXPECT_FALSE(Intersect(Box{{2}, {0}}.view(), Box{{0}, {4}}.view()));
}

TEST(Intersect, OfTheElementOfA0dTensorIsThatElement) {
  const auto common = Intersect(Box{}.view(), Box{}.view());
  ASSERT_TRUE(common);
  EXPECT_TRUE(common->offsets.empty());
}

TEST(Intersect, HoldsTheElementsThatBothHold) {
  test::Random random(1);
  for (int round = 0; round < 500; ++round) {
    const Dims shape = test::RandomShape(random, 3, 6);
    const Box a = test::RandomTiling(random, shape, 3)[0];
    const Box b = test::RandomTiling(random, shape, 3)[0];
    const auto common = Intersect(a.view(), b.view());
    const auto holds = [](const Box& box, DimsView at) {
      for (size_t d = 0; d < at.size(); ++d) {
        if (at[d] < box.offsets[d] || at[d] - box.offsets[d] >= box.sizes[d]) return false;
      }
      return true;
    };
    test::ForEachPosition(shape, [&](DimsView at) {
      ASSERT_EQ(common && holds(*common, at), holds(a, at) && holds(b, at)) << ToString(a.view()) << ToString(b.view());
    });
  }
}

TEST(RowMajorStrides, CountElements) {
  EXPECT_EQ(RowMajorStrides(Dims{2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(RowMajorStrides(Dims{}), Dims{});
  EXPECT_EQ(RowMajorStrides(Dims{2, 0, 4}), (Dims{4, 4, 1}));
}

TEST(Unravel, CountsInRowMajorOrder) {
  EXPECT_EQ(Unravel(Dims{2, 3, 4}, 0), (Dims{0, 0, 0}));
  EXPECT_EQ(Unravel(Dims{2, 3, 4}, 23), (Dims{1, 2, 3}));
  EXPECT_EQ(Unravel(Dims{2, 3, 4}, 13), (Dims{1, 0, 1}));
  EXPECT_EQ(Unravel(Dims{}, 0), Dims{});
}

TEST(IsRowMajor, LooksAtEachStrideThatMatters) {
  EXPECT_TRUE(IsRowMajor(Dims{2, 3}, Dims{3, 1}));
  EXPECT_FALSE(IsRowMajor(Dims{2, 3}, Dims{1, 2}));
  EXPECT_FALSE(IsRowMajor(Dims{2, 3}, Dims{6, 2}));
  EXPECT_FALSE(IsRowMajor(Dims{2, 3}, Dims{0, 1}));
  EXPECT_TRUE(IsRowMajor(Dims{2, 1, 3}, Dims{3, 77, 1}));
  EXPECT_TRUE(IsRowMajor(Dims{5, 0}, Dims{9, 9}));
  EXPECT_TRUE(IsRowMajor(Dims{}, Dims{}));
}

TEST(BoxToString, ShowsShapesAndRanges) {
  EXPECT_EQ(ToString(DimsView(Dims{4, 5})), "[4, 5]");
  EXPECT_EQ(ToString(DimsView(Dims{})), "[]");
  EXPECT_EQ(ToString(Box{{0, 2}, {4, 3}}.view()), "[0:4, 2:5]");
}

}  // namespace
}  // namespace dcpctl
