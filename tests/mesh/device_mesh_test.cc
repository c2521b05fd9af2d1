#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dcpctl/mesh.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

std::string ParseError(std::string_view text) {
  const Error error = ErrorOf(ParseMesh(text));
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  return error.ToString();
}

TEST(DeviceMesh, NumbersRanksWithTheLastDimensionFastest) {
  const DeviceMesh mesh = Value(ParseMesh("pp=2,dp=4,tp=3"));
  EXPECT_EQ(mesh.world_size(), 24u);
  EXPECT_EQ(mesh.RankStep(0), 12u);
  EXPECT_EQ(mesh.RankStep(1), 3u);
  EXPECT_EQ(mesh.RankStep(2), 1u);
  EXPECT_EQ(mesh.Coordinate(17, 0), 1u);
  EXPECT_EQ(mesh.Coordinate(17, 1), 1u);
  EXPECT_EQ(mesh.Coordinate(17, 2), 2u);
}

TEST(DeviceMesh, OfNoDimensionsIsOneRank) { EXPECT_EQ(DeviceMesh().world_size(), 1u); }

TEST(ParseMesh, ReadsNamesAndSizes) {
  EXPECT_EQ(ToString(Value(ParseMesh("dp=8,tp=4"))), "dp=8,tp=4");
  EXPECT_EQ(ToString(Value(ParseMesh(" dp_shard = 8 , tp.x-1 = 1 "))), "dp_shard=8,tp.x-1=1");
}

TEST(ParseMesh, RefusesWhatIsNoMesh) {
  for (const char* text : {"", "dp", "dp=", "dp=x", "dp=-1", "dp=8,", "dp=8 tp=4", "dp=1e3", "dp=99999999999999999999"})
    EXPECT_THAT(ParseError(text), HasSubstr("expected NAME=SIZE with 1 to 1000000 ranks")) << text;
  for (const char* text : {"=4", "d p=4", "dp:1=4", "d\xc3\xbc=4"})
    EXPECT_THAT(ParseError(text), HasSubstr("expected a name of letters")) << text;
  EXPECT_THAT(ParseError("dp=2,tp=2,dp=2"), HasSubstr("\"dp\" is there twice"));
}

TEST(ParseMesh, NamesTheLimitsOfSizes) {
  EXPECT_THAT(ParseError("dp=2,tp=0"), HasSubstr("mesh dimension \"tp\" has size 0, expected 1 to 1000000"));
  EXPECT_THAT(ParseError("dp=1000000000"), HasSubstr("has size 1000000000, expected 1 to 1000000"));
  EXPECT_THAT(ParseError("a=1000,b=1001"), HasSubstr("a=1000,b=1001 has 1001000 ranks, expected 1 to 1000000"));
  EXPECT_THAT(ParseError("a=1000000,b=1000000,c=1000000,d=1000000"), HasSubstr("more than 2^64 ranks"));
  EXPECT_EQ(Value(ParseMesh("a=1000,b=1000")).world_size(), 1'000'000u);
  EXPECT_EQ(ErrorOf(ParseMesh("a=5", {.ranks = 4})).kind(), ErrorKind::kUsage);
}

TEST(DeviceMesh, RefusesTooManyDimensions) {
  std::vector<MeshDim> dims;
  for (size_t i = 0; i <= DeviceMesh::kMaxDims; ++i) dims.push_back({.name = "d" + std::to_string(i), .size = 1});
  EXPECT_THAT(ErrorOf(DeviceMesh::Make(dims)).Text(), HasSubstr("33 dimensions, expected 1 to 32"));
  dims.pop_back();
  EXPECT_EQ(Value(DeviceMesh::Make(dims)).world_size(), 1u);
  EXPECT_EQ(ErrorOf(DeviceMesh::Make({})).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace dcpctl
