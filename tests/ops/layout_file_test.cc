#include "ops/layout_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;

Result<MeshLayout> Read(std::string_view text, const Limits& limits = {}) {
  const auto bytes = test::BytesOf(text);
  return ReadLayoutFile(MemorySource("layout.json", {bytes.begin(), bytes.end()}), limits);
}

// With the schema in front.
std::string ErrorText(const std::string& members) {
  const Error error = ErrorOf(Read(R"~({"schema": "dcpctl.layout/1", )~" + members + "}"));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().file, "layout.json");
  return error.ToString();
}

TEST(LayoutFile, ReadsMeshRulesAndDefault) {
  const MeshLayout layout = Value(Read(R"~({
    "schema": "dcpctl.layout/1",
    "mesh": {"tp": 2, "dp": 4},
    "placements": [{"match": "a.*", "placement": "dp:shard(0),tp:shard(1)"}, {"match": "b", "placement": "replicate"}],
    "default": "tp:shard(-1)"})~"));
  EXPECT_EQ(ToString(layout.mesh), "tp=2,dp=4");
  ASSERT_EQ(layout.rules.size(), 2u);
  EXPECT_EQ(layout.rules[0].pattern, "a.*");
  EXPECT_EQ(ToString(layout.rules[0].placements, layout.mesh), "tp:shard(1),dp:shard(0)");
  EXPECT_EQ(layout.rules[1].origin, "/placements/1 of \"layout.json\"");
  EXPECT_EQ(ToString(layout.fallback.placements, layout.mesh), "tp:shard(-1),dp:replicate");
  EXPECT_EQ(layout.fallback.origin, "/default of \"layout.json\"");
}

TEST(LayoutFile, ReadsAMeshAsAListWithoutMore) {
  const MeshLayout layout = Value(Read(R"~({"schema": "dcpctl.layout/1", "mesh": [["tp", 2], ["dp", 4]]})~"));
  EXPECT_EQ(ToString(layout.mesh), "tp=2,dp=4");
  EXPECT_EQ(ToString(layout.fallback.placements, layout.mesh), "tp:shard(0),dp:replicate");
  EXPECT_EQ(layout.fallback.origin, "the default placement");
}

TEST(LayoutFile, TellsThePlaceOfASyntaxError) {
  for (const char* text : {"", "{", "{\"schema\": }", "[1, 2", "{} x", "{\"a\": \"\xff\"}", "{\"a\": 1e999}"}) {
    const Error error = ErrorOf(Read(text));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt) << text;
    EXPECT_THAT(error.Text(), HasSubstr("JSON that cannot be read")) << text;
    EXPECT_TRUE(error.place().offset) << text;
  }
  EXPECT_THAT(ErrorOf(Read("{\"schema\": }")).ToString(), HasSubstr("layout.json:0xb: error"));
}

TEST(LayoutFile, RefusesMembersTwiceOrWithoutEndAndDeepNesting) {
  EXPECT_THAT(ErrorText(R"~("mesh": {"dp": 2, "dp": 3})~"), HasSubstr("member \"dp\" is there twice"));
  EXPECT_THAT(ErrorOf(Read(std::string(100'000, '['))).Text(), HasSubstr("nested deeper than 16"));
  std::string members;
  for (int i = 0; i < 200'000; ++i) members += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 1";
  EXPECT_THAT(ErrorText("\"mesh\": {" + members + "}"),
              HasSubstr("an object of more than 100 members, expected a layout"));
}

TEST(LayoutFile, RefusesOtherSchemas) {
  const Error error = ErrorOf(Read(R"~({"schema": "dcpctl.layout/2", "mesh": {"dp": 2}})~"));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.Text(), HasSubstr("schema \"dcpctl.layout/2\", expected \"dcpctl.layout/1\" (at /schema)"));
  EXPECT_THAT(ErrorOf(Read(R"~({"mesh": {"dp": 2}})~")).Text(), HasSubstr("no member \"schema\""));
  EXPECT_THAT(ErrorOf(Read("[]")).Text(), HasSubstr("an array, expected an object (at the top)"));
}

TEST(LayoutFile, NamesThePlaceOfWhatIsWrong) {
  const std::string mesh = R"~("mesh": {"dp": 2, "tp": 2}, )~";
  EXPECT_THAT(ErrorText(R"~("meshes": {"dp": 2})~"),
              AllOf(HasSubstr("unknown member \"meshes\""), HasSubstr("at /meshes"), HasSubstr("mean \"mesh\"")));
  EXPECT_THAT(ErrorText(R"~("default": "replicate")~"), HasSubstr("no member \"mesh\""));
  EXPECT_THAT(ErrorText(R"~("mesh": "dp=2")~"), HasSubstr("\"dp=2\", expected {\"NAME\": SIZE, ...}"));
  EXPECT_THAT(ErrorText(R"~("mesh": {"a/b": "2"})~"), AllOf(HasSubstr("expected a size"), HasSubstr("at /mesh/a~1b")));
  EXPECT_THAT(ErrorText(R"~("mesh": {"dp": -2})~"), HasSubstr("-2, expected a size"));
  EXPECT_THAT(ErrorText(R"~("mesh": {"dp": 2.0})~"), HasSubstr("2.0, expected a size"));
  EXPECT_THAT(ErrorText(R"~("mesh": {"dp": 0})~"), AllOf(HasSubstr("has size 0"), HasSubstr("at /mesh)")));
  EXPECT_THAT(ErrorText(R"~("mesh": [["dp", 2], ["tp"]])~"), HasSubstr("at /mesh/1"));
  EXPECT_THAT(ErrorText(R"~("mesh": [["dp", "x"]])~"), HasSubstr("at /mesh/0/1"));
  EXPECT_THAT(ErrorText(R"~("mesh": {})~"), HasSubstr("0 dimensions"));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": {})~"), HasSubstr("expected an array (at /placements)"));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": [3])~"), HasSubstr("3, expected an object (at /placements/0)"));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": [{"match": "a"}])~"), HasSubstr("no member \"placement\""));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": [{"match": 1, "placement": "replicate"}])~"),
              HasSubstr("1, expected a string (at /placements/0/match)"));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": [{"match": "a", "placement": "dq:shard(0)"}])~"),
              AllOf(HasSubstr("called \"dq\""), HasSubstr("at /placements/0/placement"), HasSubstr("did you mean dp")));
  EXPECT_THAT(ErrorText(mesh + R"~("placements": [{"match": "a", "placement": "replicate", "x": 1}])~"),
              HasSubstr("at /placements/0/x"));
  EXPECT_THAT(ErrorText(mesh + R"~("default": null)~"), HasSubstr("null, expected a string (at /default)"));
  EXPECT_THAT(ErrorText(mesh + R"~("default": "dp:shard")~"), HasSubstr("at /default"));
}

TEST(LayoutFile, HasALimit) { EXPECT_EQ(ErrorOf(Read("{}", {.layout_bytes = 1})).kind(), ErrorKind::kLimit); }

}  // namespace
}  // namespace dcpctl::ops
