#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dcpctl/mesh.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MakeFsdpLayout, CutsTheFirstDimensionOfEverything) {
  const MeshLayout layout = Value(MakeFsdpLayout(8));
  EXPECT_EQ(layout.mesh.world_size(), 8u);
  EXPECT_TRUE(layout.rules.empty());
  EXPECT_EQ(ToString(layout.fallback.placements, layout.mesh), "fsdp:shard(0)");
}

TEST(MakeFsdpLayout, NamesTheLimits) {
  for (const uint64_t world : {uint64_t{0}, uint64_t{1'000'000'000}, UINT64_MAX}) {
    const Error error = ErrorOf(MakeFsdpLayout(world));
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.Text(), "world size " + std::to_string(world) + ", expected 1 to 1000000 ranks");
  }
}

TEST(ParsePlacementRule, IsPartedAtTheLastEqualsSign) {
  const DeviceMesh mesh = Value(ParseMesh("dp=2,tp=2"));
  const PlacementRule rule = Value(ParsePlacementRule("a=b.*=tp:shard(1)", mesh));
  EXPECT_EQ(rule.pattern, "a=b.*");
  EXPECT_EQ(ToString(rule.placements, mesh), "dp:replicate,tp:shard(1)");
  EXPECT_EQ(rule.origin, "--placement \"a=b.*=tp:shard(1)\"");
}

TEST(ParsePlacementRule, NamesTheOption) {
  const DeviceMesh mesh = Value(ParseMesh("dp=2,tp=2"));
  for (const char* text : {"dp:shard(0)", "=dp:shard(0)", ""})
    EXPECT_THAT(ErrorOf(ParsePlacementRule(text, mesh)).Text(), HasSubstr("has no pattern, expected GLOB=PLACEMENTS"));
  EXPECT_THAT(ErrorOf(ParsePlacementRule("x=pp:shard(0)", mesh)).ToString(),
              AllOf(HasSubstr("no mesh dimension is called \"pp\""), HasSubstr("(--placement \"x=pp:shard(0)\")")));
}

TEST(DefaultRule, CutsOverTheFirstDimensionThatIsNotForReplicas) {
  const auto rule = [](std::string_view text) {
    const DeviceMesh mesh = Value(ParseMesh(text));
    return ToString(DefaultRule(mesh).placements, mesh);
  };
  EXPECT_EQ(rule("dp=8,tp=4"), "dp:shard(0),tp:replicate");
  EXPECT_EQ(rule("dp_replicate=2,dp_shard=4"), "dp_replicate:replicate,dp_shard:shard(0)");
  EXPECT_EQ(rule("replicate=2"), "replicate:shard(0)");
}

TEST(ParseMeshLayout, KeepsTheOrderOfRules) {
  const std::vector<std::string> rules = {"a=tp:shard(0)", "*=dp:shard(0)"};
  const MeshLayout layout = Value(ParseMeshLayout("dp=2,tp=2", rules));
  ASSERT_EQ(layout.rules.size(), 2u);
  EXPECT_EQ(layout.rules[0].pattern, "a");
  EXPECT_EQ(layout.rules[1].pattern, "*");
  EXPECT_EQ(layout.fallback.origin, "the default placement");
  EXPECT_FALSE(ParseMeshLayout("dp=0", rules));
  EXPECT_FALSE(ParseMeshLayout("pp=2", rules));
}

TEST(ListLayoutEntries, TakesSelectedTensorsAndObjects) {
  Catalog catalog;
  catalog.AddTensor("t", DType::kBFloat16, Dims{2, 3});
  catalog.AddTensor("left out", DType::kFloat32, {});
  catalog.AddObject("o").length = 99;
  catalog.entries = {{true, 1}, {false, 0}, {true, 0}};
  const std::vector<LayoutEntry> entries = ListLayoutEntries(catalog, {false, true, true});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].key, "o");
  EXPECT_EQ(entries[0].entry, 1u);
  EXPECT_EQ(entries[0].bytes, 99u);
  EXPECT_FALSE(entries[0].is_tensor);
  EXPECT_EQ(entries[1].key, "t");
  EXPECT_EQ(entries[1].entry, 2u);
  EXPECT_EQ(entries[1].bytes, 2u);
  EXPECT_EQ(entries[1].shape.data(), catalog.tensors[0].shape.begin());
}

}  // namespace
}  // namespace dcpctl
