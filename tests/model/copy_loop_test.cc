#include "model/copy_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/model/tiling.h"

namespace dcpctl {
namespace {

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;  // element of the source, element of the target

Pairs Walk(const CopyLoop& loop) {
  Dims counts;
  Dims from_steps;
  Dims to_steps;
  for (const CopyLoop::Level& level : loop.levels) {
    counts.push_back(level.count);
    from_steps.push_back(level.from_step);
    to_steps.push_back(level.to_step);
  }
  Pairs pairs;
  test::ForEachPosition(counts, [&](DimsView at) {
    pairs.emplace_back(loop.from + test::Dot(at, from_steps), loop.to + test::Dot(at, to_steps));
  });
  return pairs;
}

Pairs Naive(DimsView sizes, uint64_t from, DimsView from_strides, uint64_t to, DimsView to_strides) {
  Pairs pairs;
  test::ForEachPosition(sizes, [&](DimsView at) {
    pairs.emplace_back(from + test::Dot(at, from_strides), to + test::Dot(at, to_strides));
  });
  return pairs;
}

Pairs Sorted(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(CopyLoop, WalksWhatPlainIndexingWalks) {
  test::Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const Dims sizes = test::RandomShape(random, 4, 5);
    Dims from_strides(sizes.size());
    for (uint64_t& stride : from_strides) stride = test::Pick(random, 0, 30);
    // Often the strides of a real layout, which is what merging is for.
    if (test::Pick(random, 0, 2) != 0) {
      from_strides = RowMajorStrides(sizes);
      if (sizes.size() >= 2 && test::Pick(random, 0, 1) != 0)
        std::swap(from_strides[0], from_strides[sizes.size() - 1]);
    }
    Dims around = sizes;  // the tensor that the box is cut from
    if (!around.empty()) around[test::Pick(random, 0, around.size() - 1)] += test::Pick(random, 0, 3);
    const Dims to_strides = RowMajorStrides(around);
    const uint64_t from = test::Pick(random, 0, 100);
    const uint64_t to = test::Pick(random, 0, 100);

    const CopyLoop loop = MakeCopyLoop(sizes, from, from_strides, to, to_strides);
    const Pairs expected = Sorted(Naive(sizes, from, from_strides, to, to_strides));
    SCOPED_TRACE(ToString(DimsView(sizes)) + " at " + ToString(DimsView(from_strides)));
    ASSERT_EQ(Sorted(Walk(loop)), expected);
    EXPECT_EQ(loop.Elements(), expected.size());
    EXPECT_EQ(loop.SourceSpan(), expected.back().first - expected.front().first + 1);
    EXPECT_LE(loop.levels.size(), sizes.size());
    EXPECT_TRUE(std::is_sorted(loop.levels.begin(), loop.levels.end(),
                               [](const auto& a, const auto& b) { return a.from_step > b.from_step; }));
  }
}

TEST(CopyLoop, ReadsASourceWithoutOverlapsFrontToBack) {
  const CopyLoop loop = MakeCopyLoop(Dims{3, 4, 5}, 0, Dims{1, 15, 3}, 0, Dims{20, 5, 1});
  const Pairs pairs = Walk(loop);
  EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
}

TEST(CopyLoop, MakesOneRunOfARowCut) {
  const CopyLoop loop = MakeCopyLoop(Dims{3, 4, 5}, 20, Dims{20, 5, 1}, 60, Dims{20, 5, 1});
  EXPECT_TRUE(loop.IsOneRun());
  EXPECT_EQ(loop.Elements(), 60u);
  EXPECT_EQ(loop.from, 20u);
  EXPECT_EQ(loop.to, 60u);
}

TEST(CopyLoop, MakesOneRunARowOfAColumnCut) {
  const CopyLoop loop = MakeCopyLoop(Dims{3, 4}, 0, Dims{4, 1}, 2, Dims{10, 1});
  ASSERT_EQ(loop.levels.size(), 2u);
  EXPECT_EQ(loop.levels[0].count, 3u);
  EXPECT_EQ(loop.levels[1].count, 4u);
  EXPECT_FALSE(loop.IsOneRun());
  EXPECT_EQ(loop.SourceSpan(), 12u);
}

TEST(CopyLoop, DropsSizesOfOneWhateverTheirStrides) {
  const CopyLoop loop = MakeCopyLoop(Dims{1, 6, 1}, 0, Dims{99, 1, 7}, 0, Dims{6, 1, 1});
  ASSERT_EQ(loop.levels.size(), 1u);
  EXPECT_TRUE(loop.IsOneRun());
}

TEST(CopyLoop, IsOneElementWithoutDimensions) {
  const CopyLoop loop = MakeCopyLoop({}, 5, {}, 7, {});
  EXPECT_TRUE(loop.IsOneRun());
  EXPECT_EQ(Walk(loop), (Pairs{{5, 7}}));
  EXPECT_EQ(loop.SourceSpan(), 1u);
}

TEST(CopyLoop, IsNoRunWhenOneElementIsRepeated) {
  const CopyLoop loop = MakeCopyLoop(Dims{4, 3}, 0, Dims{0, 0}, 0, Dims{3, 1});
  EXPECT_FALSE(loop.IsOneRun());
  EXPECT_EQ(loop.SourceSpan(), 1u);
  EXPECT_EQ(loop.Elements(), 12u);
}

}  // namespace
}  // namespace dcpctl
