#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "dcpctl/plan.h"
#include "plan/plan_builder.h"
#include "support/result.h"
#include "tests/plan/sample_catalog.h"

namespace dcpctl {
namespace {

// head (8) | region x (96) | tail (12) with the checksum of x at 4
Plan GoodPlan() {
  auto builder = test::TwoRowShards();
  PlanBuilder planner(builder.catalog());
  const uint32_t output = planner.AddOutput("out.pt", 8 + 96 + 12);
  planner.AddLiteral({.output = output, .text = planner.AddText({.bytes = "headhead", .holes = {}}), .offset = 0});
  const uint32_t region = planner.AddTensor(output, 8, builder.catalog().tensors[0]);
  const uint32_t tail = planner.AddText({.bytes = std::string(12, 't'), .holes = {{.pos = 4, .region = 0}}});
  planner.AddLiteral({.output = output, .text = tail, .offset = 104, .first_region = region});
  return std::move(planner).Finish();
}

// The message of the refusal; fails the test when there is none.
std::string Refusal(const std::function<void(Plan&)>& breaks) {
  Plan plan = GoodPlan();
  breaks(plan);
  const auto checked = CheckPlan(plan);
  if (checked) {
    ADD_FAILURE() << "the plan was accepted";
    return {};
  }
  EXPECT_EQ(checked.error().kind(), ErrorKind::kInternal);
  return checked.error().message();
}

#define EXPECT_REFUSED(message, ...) EXPECT_NE(Refusal([](Plan& p) { __VA_ARGS__; }).find(message), std::string::npos)

TEST(CheckPlan, AcceptsAGoodPlan) { test::Value(CheckPlan(GoodPlan())); }

TEST(CheckPlan, AcceptsAnEmptyPlan) { test::Value(CheckPlan(Plan{})); }

TEST(CheckPlan, CountsGaps) {
  Plan plan = GoodPlan();
  plan.outputs[0].bytes += 100;
  plan.gaps = {{.output = 0, .offset = 116, .bytes = 100}};
  test::Value(CheckPlan(plan));
  EXPECT_REFUSED("bytes are written of", p.gaps = {{.output = 0, .offset = 116, .bytes = 100}});
  EXPECT_REFUSED("bytes up to", p.gaps = {{.output = 0, .offset = 3, .bytes = 4}});
}

TEST(CheckPlan, AcceptsCopiesOfFiles) {
  Plan plan = GoodPlan();
  plan.copies = {{.file = 0, .path = "copy"}, {.file = 0, .path = "sub/link", .link = true}};
  test::Value(CheckPlan(plan));
  const PlanSummary summary = Summarize(plan);
  EXPECT_EQ(summary.outputs.size(), 3U);
  EXPECT_EQ(summary.bytes_written, Summarize(GoodPlan()).bytes_written + plan.files[0].bytes);
}

TEST(CheckPlan, RefusesCopiesThatCannotBe) {
  EXPECT_REFUSED("a copy has no file", p.copies = {{.file = 99, .path = "copy"}});
  EXPECT_REFUSED("two outputs are called", p.copies = {{.file = 0, .path = "out.pt"}});
}

TEST(CheckPlan, RefusesCastsThatDoNotFit) {
  EXPECT_REFUSED("that nobody expects", p.regions[0].cast = (Cast{DType::kInt32, DType::kFloat32}));
  EXPECT_REFUSED("type of", p.needs.tensor_math = true, p.regions[0].cast = (Cast{DType::kFloat32, DType::kFloat16}));
  // The storages hold float32: read as float64 they would be too short.
  EXPECT_REFUSED("reads past its storage", p.needs.tensor_math = true,
                 p.regions[0].cast = (Cast{DType::kFloat64, DType::kFloat32}));
}

TEST(CheckPlan, RefusesAGapBetweenOutputs) {
  EXPECT_REFUSED("bytes up to", ++p.literals[1].offset, ++p.outputs[0].bytes);
}

TEST(CheckPlan, RefusesAGapAtTheStart) {
  EXPECT_REFUSED("bytes up to 0", ++p.literals[0].offset, ++p.regions[0].offset, ++p.literals[1].offset,
                 ++p.outputs[0].bytes);
}

TEST(CheckPlan, RefusesBytesWrittenTwice) { EXPECT_REFUSED("bytes up to", --p.regions[0].offset); }

TEST(CheckPlan, RefusesAnotherLengthThanTheOutput) {
  EXPECT_REFUSED("bytes are written of", ++p.outputs[0].bytes);
  EXPECT_REFUSED("bytes are written of", --p.outputs[0].bytes);
}

TEST(CheckPlan, RefusesAnOutputThatIsNotThere) { EXPECT_REFUSED("output 1", p.literals[1].output = 1); }

TEST(CheckPlan, RefusesARegionWhoseLengthIsNotThatOfItsShape) {
  EXPECT_REFUSED("length of \"x\"", p.regions[0].item_bytes = 2);
  EXPECT_REFUSED("length of \"x\"", p.dims[p.regions[0].shape] = 7);
}

TEST(CheckPlan, RefusesPiecesThatLeaveAHole) {
  EXPECT_REFUSED("do not tile", p.dims[p.pieces[1].dims + 4] = 3);
  EXPECT_REFUSED("do not tile", --p.regions[0].piece_count);
}

TEST(CheckPlan, RefusesPiecesThatOverlap) {
  EXPECT_REFUSED("do not tile", p.dims[p.pieces[1].dims] = 1, p.dims[p.pieces[1].dims + 4] = 4);
}

TEST(CheckPlan, RefusesPiecesThatLeaveTheRegion) { EXPECT_REFUSED("do not tile", p.dims[p.pieces[1].dims] = 3); }

TEST(CheckPlan, RefusesEmptyPieces) { EXPECT_REFUSED("empty piece", p.dims[p.pieces[1].dims + 5] = 0); }

TEST(CheckPlan, RefusesPiecesOutOfOrder) { EXPECT_REFUSED("out of order", std::swap(p.pieces[0], p.pieces[1])); }

TEST(CheckPlan, RefusesPiecesThatAreNotThere) { EXPECT_REFUSED("pieces of \"x\"", p.regions[0].piece_count = 3); }

TEST(CheckPlan, RefusesAPieceOutsideItsStorage) {
  EXPECT_REFUSED("past its storage", p.sources[1].stored.bytes = 60);
  EXPECT_REFUSED("past its storage", p.sources[1].stored.first_element = 1);
  EXPECT_REFUSED("past its storage", p.dims[p.sources[1].strides] = 5);
  EXPECT_REFUSED("past its storage", p.dims[p.pieces[1].dims + 2] = 1);
  EXPECT_REFUSED("past its storage", p.dims[p.sources[1].strides] = uint64_t{1} << 63);
}

TEST(CheckPlan, RefusesAPieceWithoutSource) { EXPECT_REFUSED("has no source", p.pieces[1].source = 2); }

TEST(CheckPlan, RefusesASourceOutsideItsFile) {
  EXPECT_REFUSED("outside", p.sources[0].stored.offset = 969);
  EXPECT_REFUSED("outside", p.files[1].bytes = 127);
  EXPECT_REFUSED("outside", p.sources[0].stored.offset = UINT64_MAX - 31);
}

TEST(CheckPlan, LooksAtTheEncodedBytesOfEncodedSources) {
  EXPECT_REFUSED("outside", p.sources[0].stored.codec = Codec::kDeflate, p.sources[0].stored.encoded_bytes = 873);
  EXPECT_REFUSED("outside", p.sources[0].stored.codec = Codec::kZstd, p.sources[0].record_offset = 900,
                 p.sources[0].record_length = 101);
  Plan plan = GoodPlan();
  plan.sources[0].stored.codec = Codec::kZstd;
  plan.sources[0].stored.offset = 5000;  // in the decoded record
  plan.sources[0].record_offset = 900;
  plan.sources[0].record_length = 100;
  test::Value(CheckPlan(plan));
}

TEST(CheckPlan, RefusesASourceWithoutFile) { EXPECT_REFUSED("has no file", p.sources[0].file = 2); }

TEST(CheckPlan, RefusesAChecksumOutsideItsLiteral) {
  EXPECT_REFUSED("no place", p.texts[1].holes[0].pos = 9);
  EXPECT_REFUSED("no place", p.texts[1].holes[0].pos = UINT64_MAX);
  EXPECT_REFUSED("of nothing", p.texts[1].holes[0].region = 1);
  EXPECT_REFUSED("of nothing", p.literals[1].first_region = 1);
  EXPECT_REFUSED("of nothing", p.literals[1].first_region = UINT32_MAX, p.texts[1].holes[0].region = 1);
}

TEST(CheckPlan, RefusesAChecksumOfAnotherOutput) {
  EXPECT_REFUSED("in another output", p.outputs.push_back({.path = "b", .bytes = 12}), p.outputs[0].bytes = 104,
                 p.literals[1].output = 1, p.literals[1].offset = 0);
}

TEST(CheckPlan, RefusesNumbersOfNothing) {
  EXPECT_REFUSED("has no text", p.literals[1].text = 2);
  EXPECT_REFUSED("has no key", p.regions[0].key = 1);
}

// Whoever takes a plan apart goes through its parts side by side.
TEST(CheckPlan, RefusesPartsOutOfOrder) {
  EXPECT_REFUSED("bytes up to 0", std::swap(p.literals[0], p.literals[1]));
  // Those without elements write nothing twice.
  const auto add_empty = [](Plan& p, uint32_t output) {
    p.regions.push_back({.output = output, .rank = 1, .shape = p.pieces[0].dims});
  };
  Plan plan = GoodPlan();
  plan.outputs.push_back({.path = "b", .bytes = 0});
  add_empty(plan, 1);
  test::Value(CheckPlan(plan));
  add_empty(plan, 0);
  EXPECT_EQ(test::ErrorOf(CheckPlan(plan)).message(), "plan: regions are out of order");
}

}  // namespace
}  // namespace dcpctl
