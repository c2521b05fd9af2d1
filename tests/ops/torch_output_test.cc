#include "ops/torch_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::Value;
using ::testing::ElementsAre;

// (tensor, tensor) of three elements; the second is the whole of storage 1, or also of storage 0.
pickle::Value PairOfTensors(pickle::Document& d, bool shared) {
  return d.Tuple({torch::MakeSample(d, {.key = "0", .items = 3, .shape = {3}, .strides = {1}}),
                  torch::MakeSample(d, {.key = shared ? "0" : "1", .items = 3, .shape = {3}, .strides = {1}})});
}

class TorchOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    sample_.AddTensor("w", {"w"}, {4}, 0,
                      {{.offsets = {0}, .sizes = {2}}, {.offsets = {2}, .sizes = {2}, .file = "__1_0.distcp"}});
    sample_.AddObject("pair", {"pair"}, [](auto& d) { return PairOfTensors(d, false); },
                      {dcp::Floats(3, 10), dcp::Floats(3, 20)});
    sample_.AddObject("twin", {"twin"}, [](auto& d) { return PairOfTensors(d, true); }, {dcp::Floats(3, 30)});
    sample_.AddTensor("empty", {"empty"}, {0, 3});
    sample_.PutOn(files_, "/ckpt");
    catalog_ = Value(dcp::SurveyDirectory(files_, "/ckpt", {}));
    ASSERT_TRUE(catalog_.findings.empty());
  }

  TorchOutput PlanOf(const std::vector<bool>& selected) {
    TorchOutputOptions options{.selected = selected};
    for (size_t i = 0; i < catalog_.entries.size(); ++i) {
      if (selected[i]) options.paths.push_back(catalog_.KeyPathOf(catalog_.entries[i]));
    }
    return Value(PlanTorchOutput(catalog_, "out.pt", options));
  }

  test::MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  Catalog catalog_;
};

// All that a plan says, as text.
std::string TextOf(const Plan& plan) {
  std::string text;
  for (const PlanOutput& output : plan.outputs) text += output.path + " " + std::to_string(output.bytes) + "\n";
  for (const Literal& literal : plan.literals)
    text += std::to_string(literal.offset) + ":" + plan.TextOf(literal).bytes +
            std::to_string(plan.TextOf(literal).holes.size()) + "\n";
  for (const Region& region : plan.regions)
    text += plan.KeyOf(region) + " " + std::to_string(region.offset) + "+" + std::to_string(region.bytes) + " " +
            std::to_string(region.piece_count) + "\n";
  for (const uint64_t dim : plan.dims) text += std::to_string(dim) + " ";
  return text;
}

TEST_F(TorchOutputTest, IsAPlanThatHolds) {
  const TorchOutput output = PlanOf({true, true, true, true});
  EXPECT_TRUE(CheckPlan(output.plan));
  EXPECT_EQ(output.removed_positions, 0U);
  ASSERT_EQ(output.plan.outputs.size(), 1U);
  EXPECT_EQ(output.plan.outputs[0].path, "out.pt");
}

TEST_F(TorchOutputTest, IsTheSameEveryTime) {
  EXPECT_EQ(TextOf(PlanOf({true, true, true, true}).plan), TextOf(PlanOf({true, true, true, true}).plan));
}

TEST_F(TorchOutputTest, NumbersStoragesAnewAndSharesThemAsBefore) {
  const TorchOutput output = PlanOf({true, true, true, true});
  std::vector<std::string> keys;
  std::set<uint64_t> offsets;
  for (const Region& region : output.plan.regions) {
    keys.push_back(output.plan.KeyOf(region));
    offsets.insert(region.offset);
    EXPECT_EQ(region.offset % 64, 0U);
  }
  EXPECT_THAT(keys, ElementsAre("w", "pair", "pair", "twin"));
  EXPECT_EQ(offsets.size(), 4U);
}

TEST_F(TorchOutputTest, HoldsOnlyWhatIsSelected) {
  const TorchOutput output = PlanOf({false, true, false, false});
  EXPECT_EQ(output.plan.regions.size(), 2U);
  EXPECT_TRUE(CheckPlan(output.plan));
}

TEST_F(TorchOutputTest, RefusesTwoEntriesForOnePlace) {
  TorchOutputOptions options{.selected = {true, true, false, false}, .paths = {{"x"}, {"x"}}};
  const Error error = test::ErrorOf(PlanTorchOutput(catalog_, "out.pt", options));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_THAT(error.message(), testing::HasSubstr("\"w\" and \"pair\""));
}

// A storage on a block boundary of the source can be cloned if it is on one of the output too.
TEST(TorchOutputAlignment, KeepsLargeStoragesCongruent) {
  test::MemoryFileSystem files;
  dcp::SampleCheckpoint sample;
  sample.AddTensor("w", {"w"}, {64 * 1024});
  sample.PutOn(files, "/ckpt");
  Catalog catalog = Value(dcp::SurveyDirectory(files, "/ckpt", {}));
  catalog.chunks[0].stored.offset = 8192;
  const TorchOutput output = Value(PlanTorchOutput(catalog, "out.pt", {.selected = {true}, .paths = {{"w"}}}));
  EXPECT_EQ(output.plan.regions.at(0).offset % 4096, 0U);
}

}  // namespace
}  // namespace dcpctl::ops
