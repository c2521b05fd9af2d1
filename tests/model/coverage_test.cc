#include "model/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/tiling.h"

namespace dcpctl {
namespace {

using test::Pick;
using test::Random;

struct Answer {
  Coverage coverage;
  uint64_t looks = 0;  // boxes asked for: the work, counted and not timed
};

Answer Check(DimsView shape, const std::vector<Box>& boxes) {
  Answer answer;
  answer.coverage = CheckCoverage(shape, boxes.size(), [&](uint64_t i) {
    ++answer.looks;
    return boxes[i].view();
  });
  return answer;
}

// Far below all pairs for 10,000 boxes and more, and a few times what is needed.
constexpr uint64_t kLooksPerBox = 400;

uint64_t MissingTheLongWay(DimsView shape, const std::vector<Box>& boxes) {
  const Dims strides = RowMajorStrides(shape);
  std::vector<bool> seen(*Numel(shape), false);
  for (const Box& box : boxes) {
    test::ForEachPosition(box.sizes, [&](DimsView at) {
      uint64_t element = test::Dot(at, strides) + test::Dot(box.offsets, strides);
      seen[element] = true;
    });
  }
  return static_cast<uint64_t>(std::count(seen.begin(), seen.end(), false));
}

void ExpectRealHole(DimsView shape, const std::vector<Box>& boxes, const Box& hole) {
  ASSERT_TRUE(IsInside(hole.view(), shape)) << ToString(hole.view());
  ASSERT_FALSE(IsEmpty(hole.view()));
  for (const Box& box : boxes) {
    EXPECT_FALSE(Intersect(box.view(), hole.view())) << ToString(box.view()) << " and hole " << ToString(hole.view());
  }
}

TEST(Coverage, AcceptsRandomTilings) {
  Random random(3);
  for (int round = 0; round < 400; ++round) {
    const Dims shape = test::RandomShape(random, 4, 12);
    const auto boxes = test::RandomTiling(random, shape, Pick(random, 0, 60));
    EXPECT_TRUE(Check(shape, boxes).coverage.ok()) << ToString(DimsView(shape));
  }
}

TEST(Coverage, CountsWhatDroppedBoxesLeaveOutAndShowsSomeOfIt) {
  Random random(4);
  for (int round = 0; round < 400; ++round) {
    const Dims shape = test::RandomShape(random, 3, 12);
    auto boxes = test::RandomTiling(random, shape, Pick(random, 1, 60));
    const uint64_t drops = Pick(random, 1, std::min<uint64_t>(3, boxes.size()));
    boxes.resize(boxes.size() - drops);
    const Coverage coverage = Check(shape, boxes).coverage;
    EXPECT_FALSE(coverage.outside || coverage.overlap || coverage.undecided);
    ASSERT_EQ(coverage.missing, MissingTheLongWay(shape, boxes));
    ExpectRealHole(shape, boxes, coverage.hole);
  }
}

TEST(Coverage, NamesTwoBoxesThatReallyOverlap) {
  Random random(5);
  int overlaps = 0;
  for (int round = 0; round < 400; ++round) {
    Dims shape = test::RandomShape(random, 3, 12);
    shape.push_back(Pick(random, 2, 12));
    auto boxes = test::RandomTiling(random, shape, Pick(random, 1, 60));
    if (boxes.size() < 2) continue;
    Box& box = boxes[Pick(random, 0, boxes.size() - 1)];
    const size_t axis = Pick(random, 0, shape.size() - 1);
    const bool moves = Pick(random, 0, 1) != 0;
    if (box.offsets[axis] > 0 && moves) {
      --box.offsets[axis];
    } else if (box.offsets[axis] + box.sizes[axis] < shape[axis]) {
      ++box.sizes[axis];
    } else {
      continue;
    }
    const Coverage coverage = Check(shape, boxes).coverage;
    ASSERT_TRUE(coverage.overlap);
    const auto [a, b] = *coverage.overlap;
    EXPECT_LT(a, b);
    EXPECT_TRUE(Intersect(boxes[a].view(), boxes[b].view()));
    EXPECT_FALSE(coverage.ok());
    ++overlaps;
  }
  EXPECT_GT(overlaps, 200);
}

TEST(Coverage, FindsTheSameBoxTwice) {
  const Coverage coverage = Check(Dims{4, 4}, {{{0, 0}, {4, 4}}, {{0, 0}, {4, 4}}}).coverage;
  EXPECT_EQ(coverage.overlap, std::pair(uint64_t{0}, uint64_t{1}));
}

TEST(Coverage, NamesABoxThatLeavesTheTensor) {
  EXPECT_EQ(Check(Dims{8}, {{{0}, {4}}, {{4}, {5}}}).coverage.outside, 1u);
  EXPECT_EQ(Check(Dims{8}, {{{0}, {4}}, {{UINT64_MAX}, {2}}}).coverage.outside, 1u);
  EXPECT_EQ(Check(Dims{8}, {{{0, 0}, {4, 1}}}).coverage.outside, 0u);
}

TEST(Coverage, IgnoresEmptyBoxes) {
  EXPECT_TRUE(Check(Dims{8}, {{{0}, {8}}, {{3}, {0}}, {{8}, {0}}}).coverage.ok());
  EXPECT_EQ(Check(Dims{8}, {{{3}, {0}}}).coverage.missing, 8u);
}

TEST(Coverage, OfATensorWithoutElementsNeedsNoBoxes) {
  EXPECT_TRUE(Check(Dims{3, 0}, {}).coverage.ok());
  EXPECT_TRUE(Check(Dims{3, 0}, {{{0, 0}, {3, 0}}}).coverage.ok());
}

TEST(Coverage, OfA0dTensorIsItsOneElement) {
  EXPECT_TRUE(Check(Dims{}, {Box{}}).coverage.ok());
  EXPECT_EQ(Check(Dims{}, {}).coverage.missing, 1u);
  EXPECT_TRUE(Check(Dims{}, {Box{}, Box{}}).coverage.overlap);
}

TEST(Coverage, IsUndecidedForMoreThan64BitsOfElements) {
  const Dims shape = {uint64_t{1} << 40, uint64_t{1} << 40};
  EXPECT_FALSE(Check(shape, {{{0, 0}, shape}}).coverage.ok());
  EXPECT_FALSE(Check(shape, {}).coverage.ok());
}

TEST(Coverage, OfPinwheelsWhichNoCutParts) {
  // Four arms around a centre, side by side: no straight cut through a wheel misses its arms.
  std::vector<Box> boxes;
  constexpr uint64_t kWheels = 3000;
  for (uint64_t i = 0; i < kWheels; ++i) {
    const uint64_t x = 3 * i;
    boxes.push_back({{0, x}, {1, 2}});
    boxes.push_back({{0, x + 2}, {2, 1}});
    boxes.push_back({{2, x + 1}, {1, 2}});
    boxes.push_back({{1, x}, {2, 1}});
    boxes.push_back({{1, x + 1}, {1, 1}});
  }
  const Dims shape = {3, 3 * kWheels};
  EXPECT_TRUE(Check(shape, boxes).coverage.ok());
  boxes.pop_back();
  const Coverage coverage = Check(shape, boxes).coverage;
  EXPECT_EQ(coverage.missing, 1u);
  EXPECT_EQ(coverage.hole.offsets, (Dims{1, 3 * kWheels - 2}));
}

TEST(Coverage, OfManyRowsTakesLittleWork) {
  constexpr uint64_t kRows = 100'000;
  std::vector<Box> boxes = test::GridTiling(Dims{kRows * 7}, Dims{kRows});
  const Answer whole = Check(Dims{kRows * 7}, boxes);
  EXPECT_TRUE(whole.coverage.ok());
  EXPECT_LT(whole.looks, kLooksPerBox * kRows);

  boxes.erase(boxes.begin() + 61'803);
  const Answer hole = Check(Dims{kRows * 7}, boxes);
  EXPECT_EQ(hole.coverage.missing, 7u);
  EXPECT_EQ(hole.coverage.hole.offsets, Dims{61'803 * 7});
  EXPECT_LT(hole.looks, kLooksPerBox * kRows);

  boxes[10].sizes[0] += 1;
  const Answer overlap = Check(Dims{kRows * 7}, boxes);
  EXPECT_EQ(overlap.coverage.overlap, std::pair(uint64_t{10}, uint64_t{11}));
  EXPECT_LT(overlap.looks, kLooksPerBox * kRows);
}

TEST(Coverage, OfALargeGridTakesLittleWork) {
  const Dims shape = {900, 1500};
  std::vector<Box> boxes = test::GridTiling(shape, Dims{300, 300});
  Random random(6);
  for (size_t i = boxes.size(); i > 1; --i) std::swap(boxes[i - 1], boxes[Pick(random, 0, i - 1)]);
  const Answer whole = Check(shape, boxes);
  EXPECT_TRUE(whole.coverage.ok());
  EXPECT_LT(whole.looks, kLooksPerBox * boxes.size());

  const Box dropped = boxes.back();
  boxes.pop_back();
  const Answer hole = Check(shape, boxes);
  EXPECT_EQ(hole.coverage.missing, 15u);
  EXPECT_EQ(hole.coverage.hole.offsets, dropped.offsets);
  EXPECT_EQ(hole.coverage.hole.sizes, dropped.sizes);
  EXPECT_LT(hole.looks, kLooksPerBox * boxes.size());
}

// Rods along three axes, pairwise disjoint: every cut goes through a third of them.
std::vector<Box> Rods(uint64_t half) {
  std::vector<Box> boxes;
  for (uint64_t i = 0; i < half; ++i) {
    for (uint64_t j = 0; j < half; ++j) {
      boxes.push_back({{0, 2 * i, 2 * j}, {2 * half, 1, 1}});
      boxes.push_back({{2 * i, 0, 2 * j + 1}, {1, 2 * half, 1}});
      boxes.push_back({{2 * i + 1, 2 * j + 1, 0}, {1, 1, 2 * half}});
    }
  }
  return boxes;
}

TEST(Coverage, GivesUpOnTangledBoxesAfterLinearWork) {
  constexpr uint64_t kHalf = 100;
  const std::vector<Box> boxes = Rods(kHalf);
  const Answer answer = Check(Dims(3, 2 * kHalf), boxes);
  EXPECT_TRUE(answer.coverage.undecided);
  EXPECT_FALSE(answer.coverage.ok());
  EXPECT_LT(answer.looks, 5000 * boxes.size());  // all pairs would be twice 15,000 for each box
}

TEST(Coverage, DecidesAFewTangledBoxes) {
  constexpr uint64_t kHalf = 8;
  std::vector<Box> boxes = Rods(kHalf);
  const Dims shape(3, 2 * kHalf);
  Coverage coverage = Check(shape, boxes).coverage;
  EXPECT_FALSE(coverage.undecided || coverage.overlap);
  EXPECT_EQ(coverage.missing, MissingTheLongWay(shape, boxes));
  ExpectRealHole(shape, boxes, coverage.hole);

  boxes.push_back({{5, 5, 5}, {2, 2, 2}});
  coverage = Check(shape, boxes).coverage;
  ASSERT_TRUE(coverage.overlap);
  EXPECT_EQ(coverage.overlap->second, boxes.size() - 1);
}

TEST(Coverage, EndsForManyBoxesInOnePlace) {
  const std::vector<Box> boxes(50'000, Box{{0, 0}, {2, 2}});
  const Answer answer = Check(Dims{2, 2}, boxes);
  EXPECT_TRUE(answer.coverage.overlap);
  EXPECT_LT(answer.looks, kLooksPerBox * boxes.size());
}

// Each box reaches into the next ones: cuts that look just good enough, all the way down.
TEST(Coverage, EndsForALongStaircaseOfOverlaps) {
  std::vector<Box> boxes;
  for (uint64_t i = 0; i < 50'000; ++i) boxes.push_back({{i, i}, {5000, 5000}});
  const Answer answer = Check(Dims{60'000, 60'000}, boxes);
  EXPECT_TRUE(answer.coverage.overlap || answer.coverage.undecided);
  EXPECT_LT(answer.looks, 5000 * boxes.size());
}

}  // namespace
}  // namespace dcpctl
