#include "mesh/split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mesh/random_layout.h"
#include "support/result.h"

namespace dcpctl::mesh {
namespace {

using test::ErrorOf;
using test::Pick;
using test::Value;

constexpr uint64_t kEnough = 1'000'000;

TEST(PartsOf, OfTwoRowCutsAreInOrder) {
  Budget budget(kEnough);
  const std::vector<Cut> cuts = {{.parts = 2, .rank_step = 3}, {.parts = 3, .rank_step = 1}};
  const std::vector<Part> parts = Value(PartsOf(10, cuts, budget));
  ASSERT_EQ(parts.size(), 6u);  // 5 and 5, each 2 + 2 + 1
  EXPECT_EQ(parts[2].rank, 2u);
  EXPECT_EQ(parts[2].runs, (Runs{{.begin = 4, .size = 1}}));
  EXPECT_EQ(parts[3].rank, 3u);
  EXPECT_EQ(parts[3].runs, (Runs{{.begin = 5, .size = 2}}));
}

TEST(PartsOf, LeavesOutEmptyParts) {
  Budget budget(kEnough);
  EXPECT_EQ(Value(PartsOf(5, std::vector<Cut>{{.parts = 1000}}, budget)).size(), 5u);
  EXPECT_TRUE(Value(PartsOf(0, std::vector<Cut>{{.parts = 3}}, budget)).empty());
  EXPECT_EQ(Value(PartsOf(0, {}, budget)).size(), 0u);
  EXPECT_EQ(Value(PartsOf(7, {}, budget)).size(), 1u);
}

TEST(PartsOf, OfAStridedShardMayReachMoreRanksWithItsLastPiece) {
  Budget budget(kEnough);
  const std::vector<Part> parts = Value(PartsOf(7, std::vector<Cut>{{.parts = 3, .split_factor = 2}}, budget));
  ASSERT_EQ(parts.size(), 3u);  // 4 and 3: the first over two ranks, the second over three
  EXPECT_EQ(parts[2].runs, (Runs{{.begin = 6, .size = 1}}));
}

TEST(PartsOf, SpendsForWhatIsThereOnly) {
  Budget budget(12);
  EXPECT_EQ(Value(PartsOf(5, std::vector<Cut>{{.parts = 1'000'000}}, budget)).size(), 5u);
  EXPECT_EQ(ErrorOf(PartsOf(100, std::vector<Cut>{{.parts = 50}}, budget)).kind(), ErrorKind::kLimit);
}

TEST(PartsOf, KeepsToItsBudgetForHugeFactors) {
  Budget budget(kEnough);
  const std::vector<Cut> cuts = {{.parts = 2, .split_factor = UINT64_MAX}};
  EXPECT_EQ(ErrorOf(PartsOf(UINT64_MAX, cuts, budget)).kind(), ErrorKind::kLimit);
}

RC_GTEST_PROP(PartsOf, AgreesWithRunsOfForEveryRank, (uint32_t seed)) {
  test::Random random(seed);
  std::vector<Cut> cuts(Pick(random, 0, 3));
  uint64_t ranks = 1;
  for (Cut& cut : cuts) cut = {.parts = Pick(random, 1, 6), .split_factor = Pick(random, 1, 5)};
  for (size_t i = cuts.size(); i-- > 0;) {
    cuts[i].rank_step = ranks;
    ranks *= cuts[i].parts;
  }
  const uint64_t size = Pick(random, 0, 60);
  Budget budget(kEnough);
  std::vector<Runs> found(ranks);
  uint64_t last = 0;
  for (const Part& part : Value(PartsOf(size, cuts, budget))) {
    RC_ASSERT(!part.runs.empty() && found[part.rank].empty());
    RC_ASSERT(part.runs[0].begin >= last);
    last = part.runs[0].begin;
    found[part.rank] = part.runs;
  }
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    std::vector<uint64_t> coordinates;
    for (const Cut& cut : cuts) coordinates.push_back(rank / cut.rank_step % cut.parts);
    RC_ASSERT(Value(RunsOf(size, cuts, coordinates, Budget(kEnough))) == found[rank]);
  }
}

}  // namespace
}  // namespace dcpctl::mesh
