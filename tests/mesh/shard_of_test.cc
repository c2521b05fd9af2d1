#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dcpctl/mesh.h"
#include "mesh/random_layout.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

// "offsets sizes" of each rank, as DTensor tells them.
std::vector<std::string> Shards(const Dims& shape, std::string_view mesh_text, std::string_view placements) {
  const DeviceMesh mesh = Value(ParseMesh(mesh_text));
  std::vector<std::string> shards;
  for (uint64_t rank = 0; rank < mesh.world_size(); ++rank) {
    const LocalShard shard = Value(ShardOf(shape, mesh, Value(ParsePlacements(placements, mesh)), rank));
    shards.push_back(ToString(shard.offsets) + " " + ToString(shard.sizes));
  }
  return shards;
}

// Of all boxes, in their order.
std::vector<uint64_t> ElementsOf(DimsView shape, const LocalShard& shard) {
  std::vector<uint64_t> elements;
  for (const Box& box : shard.boxes) {
    const std::vector<uint64_t> more = test::ElementsOf(shape, box);
    elements.insert(elements.end(), more.begin(), more.end());
  }
  return elements;
}

std::vector<uint64_t> Sorted(std::vector<uint64_t> elements) {
  std::sort(elements.begin(), elements.end());
  return elements;
}

TEST(ShardOf, GivesTheTrailingRanksNothing) {
  EXPECT_THAT(Shards({1, 17}, "a=2", "shard(0)"), testing::ElementsAre("[0, 0] [1, 17]", "[1, 0] [0, 17]"));
  EXPECT_THAT(Shards({1}, "a=4", "shard(0)"), testing::ElementsAre("[0] [1]", "[1] [0]", "[1] [0]", "[1] [0]"));
  EXPECT_THAT(Shards({5, 3}, "a=3", "shard(0)"),
              testing::ElementsAre("[0, 0] [2, 3]", "[2, 0] [2, 3]", "[4, 0] [1, 3]"));
  const std::vector<std::string> seven = Shards({5, 3}, "a=7", "shard(0)");
  EXPECT_EQ(seven[4], "[4, 0] [1, 3]");
  EXPECT_EQ(seven[5], "[5, 0] [0, 3]");
  EXPECT_EQ(seven[6], "[5, 0] [0, 3]");
}

TEST(ShardOf, CutsBlocksOfSeveralDimensions) {
  EXPECT_THAT(Shards({8, 8}, "a=2,b=2", "a:shard(0),b:shard(1)"),
              testing::ElementsAre("[0, 0] [4, 4]", "[0, 4] [4, 4]", "[4, 0] [4, 4]", "[4, 4] [4, 4]"));
}

// The table in the comment of PyTorch's _StridedShard.
TEST(ShardOf, CutsTensorParallelismBeforeFsdp) {
  for (const char* placements : {"dp:strided_shard(0,2),tp:shard(0)", "dp:strided_shard(0),tp:shard(0)"}) {
    EXPECT_THAT(Shards({8, 8}, "dp=2,tp=2", placements),
                testing::ElementsAre("[0, 0] [2, 8]", "[4, 0] [2, 8]", "[2, 0] [2, 8]", "[6, 0] [2, 8]"));
  }
}

TEST(ShardOf, GivesSeveralBoxesWhereAStridedShardLeavesGaps) {
  const DeviceMesh mesh = Value(ParseMesh("a=2"));
  const LocalShard shard = Value(ShardOf(Dims{8, 3}, mesh, Value(ParsePlacements("strided_shard(0,2)", mesh)), 1));
  EXPECT_EQ(ToString(shard.offsets), "[2, 0]");
  EXPECT_EQ(ToString(shard.sizes), "[4, 3]");
  ASSERT_EQ(shard.boxes.size(), 2u);
  EXPECT_EQ(ToString(shard.boxes[0].view()), "[2:4, 0:3]");
  EXPECT_EQ(ToString(shard.boxes[1].view()), "[6:8, 0:3]");
}

TEST(ShardOf, ReplicatesTensorsWithoutDimensions) {
  const DeviceMesh mesh = Value(ParseMesh("a=2"));
  const LocalShard shard = Value(ShardOf(Dims{}, mesh, Value(ParsePlacements("shard(0)", mesh)), 1));
  EXPECT_EQ(shard.boxes.size(), 1u);
  EXPECT_TRUE(shard.sizes.empty());
}

TEST(ShardOf, RefusesADimensionThatTheShapeLacks) {
  const DeviceMesh mesh = Value(ParseMesh("dp=2,tp=2"));
  for (const char* placements : {"tp:shard(1)", "tp:shard(-2)", "tp:strided_shard(1,2)"}) {
    const Error error = ErrorOf(ShardOf(Dims{4}, mesh, Value(ParsePlacements(placements, mesh)), 0));
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.Text(), HasSubstr(std::string("shape [4] cannot be cut by ") + placements));
    EXPECT_THAT(error.Text(), HasSubstr("expected a dimension from -1 to 0"));
  }
}

TEST(ShardOf, KeepsToTheLimitForHugeFactors) {
  const DeviceMesh mesh = Value(ParseMesh("a=2,b=1000"));
  const Dims shape = {UINT64_MAX};
  const auto shard = [&](std::string_view text) {
    return ShardOf(shape, mesh, Value(ParsePlacements(text, mesh)), 1999);
  };
  EXPECT_EQ(ErrorOf(shard("a:strided_shard(0,18446744073709551615)")).kind(), ErrorKind::kLimit);
  const LocalShard last = Value(shard("a:shard(0),b:shard(0)"));
  EXPECT_EQ(last.offsets[0] + last.sizes[0], UINT64_MAX);
}

RC_GTEST_PROP(ShardOf, IsWhatChunkingListsOfIndicesGives, (uint32_t seed)) {
  test::Random random(seed);
  const test::RandomTensor tensor = test::MakeRandomTensor(random, 24);
  const uint64_t rank = test::Pick(random, 0, tensor.mesh.world_size() - 1);
  const LocalShard shard = Value(ShardOf(tensor.shape, tensor.mesh, tensor.placements, rank));
  const auto indices = test::IndicesTheLongWay(tensor.shape, tensor.mesh, tensor.placements, rank);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    RC_ASSERT(shard.sizes[d] == indices[d].size());
    RC_ASSERT(shard.offsets[d] == (indices[d].empty() ? tensor.shape[d] : indices[d][0]));
  }
  RC_ASSERT(Sorted(ElementsOf(tensor.shape, shard)) == Sorted(test::ElementsOf(tensor.shape, indices)));
}

// torch_boxes.json is made by make_torch_boxes.py with the PyTorch that it names.
TEST(ShardOf, IsWhatPyTorchComputes) {
  const nlohmann::json table = nlohmann::json::parse(std::ifstream(DCPCTL_TORCH_BOXES));
  ASSERT_GT(table["cases"].size(), 400u);
  for (const auto& item : table["cases"]) {
    const Dims shape = item["shape"].get<Dims>();
    const DeviceMesh mesh = Value(ParseMesh(item["mesh"].get<std::string>()));
    const Placements placements = Value(ParsePlacements(item["placements"].get<std::string>(), mesh));
    ASSERT_EQ(item["ranks"].size(), mesh.world_size());
    for (uint64_t rank = 0; rank < mesh.world_size(); ++rank) {
      const LocalShard shard = Value(ShardOf(shape, mesh, placements, rank));
      EXPECT_EQ(shard.sizes, item["ranks"][rank][0].get<Dims>()) << item << " rank " << rank;
      EXPECT_EQ(shard.offsets, item["ranks"][rank][1].get<Dims>()) << item << " rank " << rank;
      if (item.contains("elements")) {
        // Sorted, because rows of boxes that lie side by side in the local tensor take turns.
        EXPECT_EQ(Sorted(ElementsOf(shape, shard)), Sorted(item["elements"][rank].get<Dims>())) << item;
      } else if (!IsEmpty({.offsets = {}, .sizes = shard.sizes})) {
        ASSERT_EQ(shard.boxes.size(), 1u) << item;
        EXPECT_EQ(shard.boxes[0].offsets, shard.offsets);
        EXPECT_EQ(shard.boxes[0].sizes, shard.sizes);
      }
    }
  }
}

}  // namespace
}  // namespace dcpctl
