#include "mesh/rank_picker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mesh/random_layout.h"
#include "support/result.h"

namespace dcpctl::mesh {
namespace {

using test::Pick;
using test::Value;

TEST(RankPicker, TakesTheLowestOfEqualRanks) {
  const DeviceMesh mesh = Value(ParseMesh("a=2,b=3"));
  RankPicker picker(mesh);
  EXPECT_EQ(picker.Pick(0, {0, 1}), 0u);
  picker.Add(0, 10);
  EXPECT_EQ(picker.Pick(0, {0, 1}), 1u);
  EXPECT_EQ(picker.Pick(0, {0}), 3u);
  EXPECT_EQ(picker.Pick(0, {}), 0u);
  picker.Add(1, 0);
  EXPECT_EQ(picker.Pick(0, {0, 1}), 1u);
}

// Queues that are out of date give the same answers as looking at every rank.
RC_GTEST_PROP(RankPicker, FindsTheLeastOfEachGroup, (uint32_t seed)) {
  test::Random random(seed);
  const DeviceMesh mesh = test::MakeRandomTensor(random, 60).mesh;
  RankPicker picker(mesh);
  std::vector<uint64_t> bytes(mesh.world_size(), 0);
  for (int step = 0; step < 60; ++step) {
    std::vector<size_t> free;
    for (size_t d = 0; d < mesh.dims().size(); ++d) {
      if (Pick(random, 0, 1) == 1) free.push_back(d);
    }
    uint64_t first = Pick(random, 0, mesh.world_size() - 1);
    for (const size_t d : free) first -= mesh.Coordinate(first, d) * mesh.RankStep(d);
    uint64_t expected = first;
    for (uint64_t rank = 0; rank < mesh.world_size(); ++rank) {
      uint64_t own_first = rank;
      for (const size_t d : free) own_first -= mesh.Coordinate(rank, d) * mesh.RankStep(d);
      if (own_first == first && bytes[rank] < bytes[expected]) expected = rank;
    }
    const uint64_t found = picker.Pick(first, free);
    RC_ASSERT(found == expected);
    const uint64_t more = Pick(random, 0, 5);
    const uint64_t rank = Pick(random, 0, 3) == 0 ? Pick(random, 0, mesh.world_size() - 1) : found;
    picker.Add(rank, more);
    bytes[rank] += more;
  }
}

}  // namespace
}  // namespace dcpctl::mesh
