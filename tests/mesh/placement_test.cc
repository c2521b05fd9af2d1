#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "dcpctl/mesh.h"
#include "mesh/random_layout.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Kind = Placement::Kind;

const DeviceMesh kMesh = Value(ParseMesh("dp=4,tp=2"));

Placements Parse(std::string_view text) { return Value(ParsePlacements(text, kMesh)); }

std::string ParseError(std::string_view text) {
  const Error error = ErrorOf(ParsePlacements(text, kMesh));
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  return error.ToString();
}

TEST(ParsePlacements, ReadsEveryKind) {
  EXPECT_EQ(Parse("dp:shard(0),tp:shard(1)"),
            (Placements{{.kind = Kind::kShard, .dim = 0}, {.kind = Kind::kShard, .dim = 1}}));
  EXPECT_EQ(Parse("tp:shard(-1)"), (Placements{{}, {.kind = Kind::kShard, .dim = -1}}));
  EXPECT_EQ(Parse("dp:strided_shard(0,2),tp:replicate"),
            (Placements{{.kind = Kind::kStridedShard, .dim = 0, .split_factor = 2}, {}}));
  EXPECT_EQ(Parse("dp:strided_shard(1)")[0].split_factor, Placement::kPartsOfLaterDims);
  EXPECT_EQ(Parse("replicate"), Placements(2));
}

TEST(ParsePlacements, TakesSpacesAndPyTorchsSpelling) {
  EXPECT_EQ(Parse(" tp : Shard( 1 ) , dp:Replicate()"), (Placements{{}, {.kind = Kind::kShard, .dim = 1}}));
}

TEST(ParsePlacements, NeedsNoNameForAMeshOfOneDimension) {
  const DeviceMesh mesh = Value(ParseMesh("fsdp=8"));
  EXPECT_EQ(Value(ParsePlacements("shard(1)", mesh)), (Placements{{.kind = Kind::kShard, .dim = 1}}));
  EXPECT_THAT(ParseError("shard(1)"), HasSubstr("names no mesh dimension"));
}

TEST(ParsePlacements, SuggestsMeshDimensions) {
  EXPECT_THAT(ParseError("dq:shard(0)"),
              AllOf(HasSubstr("no mesh dimension is called \"dq\", expected dp or tp"), HasSubstr("did you mean dp")));
  EXPECT_THAT(ParseError("elephant:shard(0)"), Not(HasSubstr("did you mean")));
}

TEST(ParsePlacements, RefusesADimensionTwice) {
  EXPECT_THAT(ParseError("dp:shard(0),dp:shard(1)"), HasSubstr("\"dp\" is placed twice"));
}

TEST(ParsePlacements, RefusesWhatIsNoPlacement) {
  for (const char* text :
       {"dp:", "dp:shard", "dp:shard()", "dp:shard(0", "dp:shard(x)", "dp:shard(0,1)", "dp:partial", "dp:shard(0)x",
        "dp:replicate(0)", "dp:strided_shard()", "dp:strided_shard(0,0)", "dp:strided_shard(0,1,2)",
        "dp:strided_shard(0,-1)", "dp:shard(99999999999999999999)", "dp:shard(0),"}) {
    EXPECT_THAT(ParseError(text), HasSubstr("expected")) << text;
  }
  EXPECT_THAT(ParseError(""), HasSubstr("expected"));
}

RC_GTEST_PROP(ParsePlacements, ReadsWhatToStringWrites, (uint32_t seed)) {
  test::Random random(seed);
  const test::RandomTensor tensor = test::MakeRandomTensor(random, 64);
  RC_ASSERT(Value(ParsePlacements(ToString(tensor.placements, tensor.mesh), tensor.mesh)) == tensor.placements);
  RC_ASSERT(ToString(Value(ParseMesh(ToString(tensor.mesh)))) == ToString(tensor.mesh));
}

}  // namespace
}  // namespace dcpctl
