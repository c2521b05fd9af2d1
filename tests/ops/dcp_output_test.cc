#include "ops/dcp_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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
using ::testing::HasSubstr;

// "w" [4] in two files, "pair" with two storages, "empty" [0, 3], "step".
class DcpOutputTest : public testing::Test {
 protected:
  enum : uint32_t { kW, kPair, kEmpty, kStep };

  void SetUp() override {
    sample_.AddTensor("w", {"w"}, {4}, 0,
                      {{.offsets = {0}, .sizes = {2}}, {.offsets = {2}, .sizes = {2}, .file = "__1_0.distcp"}});
    sample_.AddObject("pair", {"pair"},
                      [](auto& d) {
                        return d.Tuple({torch::MakeSample(d, {.key = "0", .items = 3, .shape = {3}, .strides = {1}}),
                                        torch::MakeSample(d, {.key = "1", .items = 2, .shape = {2}, .strides = {1}})});
                      },
                      {dcp::Floats(3, 10), dcp::Floats(2, 20)});
    sample_.AddTensor("empty", {"empty"}, {0, 3});
    sample_.AddInt("step", {"step"}, 7);
    sample_.PutOn(files_, "/ckpt");
    catalog_ = Value(dcp::SurveyDirectory(files_, "/ckpt", {}));
    ASSERT_TRUE(catalog_.findings.empty());
    options_.files = {{.name = "a.distcp"}, {.name = "b.distcp"}};
    options_.compat = dcp::DefaultCompat();
    for (const EntryRef entry : catalog_.entries) options_.paths.push_back(catalog_.KeyPathOf(entry));
  }

  // All of `entry`.
  void UseWhole(uint32_t entry, uint32_t file) {
    const EntryRef ref = catalog_.entries[entry];
    if (!ref.is_tensor) return options_.AddItem({.entry = entry, .file = file}, {});
    const Dims shape = catalog_.tensors[ref.index].shape.Copy();
    options_.AddItem({.entry = entry, .file = file}, {Dims(shape.size(), 0), shape});
  }
  void UseAll() {
    UseWhole(kW, 0);
    UseWhole(kPair, 0);
    UseWhole(kEmpty, 0);
    UseWhole(kStep, 1);
  }
  // Some of "w".
  void UsePart(uint64_t offset, uint64_t size, uint32_t file) {
    options_.AddItem({.entry = kW, .file = file}, {Dims{offset}, Dims{size}});
  }

  test::MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  Catalog catalog_;
  DcpOutputOptions options_;
};

// All that a plan says, as text.
std::string TextOf(const Plan& plan) {
  std::string text;
  for (const PlanOutput& output : plan.outputs) text += output.path + " " + std::to_string(output.bytes) + "\n";
  for (const Literal& literal : plan.literals)
    text += std::to_string(literal.output) + "@" + std::to_string(literal.offset) + ":" + plan.TextOf(literal).bytes +
            std::to_string(plan.TextOf(literal).holes.size()) + "\n";
  for (const Region& region : plan.regions)
    text += plan.KeyOf(region) + " " + std::to_string(region.output) + "@" + std::to_string(region.offset) + "+" +
            std::to_string(region.bytes) + " " + std::to_string(region.piece_count) + "\n";
  for (const uint64_t dim : plan.dims) text += std::to_string(dim) + " ";
  return text;
}

std::vector<std::string> Outputs(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanOutput& output : plan.outputs) names.push_back(output.path);
  return names;
}

std::vector<std::string> Regions(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Region& region : plan.regions)
    texts.push_back(plan.outputs[region.output].path + " " + plan.KeyOf(region) + "+" + std::to_string(region.bytes));
  return texts;
}

// The `.metadata` that a plan writes, as a catalog.
Catalog Described(const Plan& plan) {
  test::MemoryFileSystem files;
  for (const Literal& literal : plan.literals) {
    if (plan.outputs[literal.output].path == ".metadata") files.Put("/new/.metadata", plan.TextOf(literal).bytes);
  }
  return Value(dcp::SurveyDirectory(files, "/new", {.depth = SurveyDepth::kMetadata}));
}

TEST_F(DcpOutputTest, IsAPlanThatHolds) {
  UseAll();
  const Plan plan = Value(PlanDcpOutput(catalog_, options_));
  const auto checked = CheckPlan(plan);
  EXPECT_TRUE(checked) << checked.error().ToString();
}

TEST_F(DcpOutputTest, EndsWithTheMetadata) {
  UseAll();
  EXPECT_THAT(Outputs(Value(PlanDcpOutput(catalog_, options_))), ElementsAre("a.distcp", "b.distcp", ".metadata"));
}

TEST_F(DcpOutputTest, IsTheSameEveryTime) {
  UseAll();
  EXPECT_EQ(TextOf(Value(PlanDcpOutput(catalog_, options_))), TextOf(Value(PlanDcpOutput(catalog_, options_))));
}

// As PyTorch has it, whatever the order of entries.
TEST_F(DcpOutputTest, PutsObjectsBeforeTensors) {
  UseAll();
  const Plan plan = Value(PlanDcpOutput(catalog_, options_));
  EXPECT_THAT(Regions(plan), ElementsAre("a.distcp pair+12", "a.distcp pair+8", "a.distcp w+16"));
  const Catalog catalog = Described(plan);
  std::vector<std::string> keys;
  for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
  EXPECT_THAT(keys, ElementsAre("w", "pair", "empty", "step"));
  EXPECT_EQ(catalog.objects[0].offset, 0U);
  EXPECT_GT(catalog.chunks[0].offset, catalog.objects[0].length);
}

// Where ranks were asked for: they read in the order of their state dict.
TEST_F(DcpOutputTest, PutsItemsInTheOrderOfTheState) {
  for (const uint32_t entry : {kPair, kW, kEmpty, kStep}) UseWhole(entry, 0);
  options_.order = ItemOrder::kAsLoaded;
  catalog_.state_order = {kStep, kEmpty, kPair};  // and then what it does not name
  const Catalog catalog = Described(Value(PlanDcpOutput(catalog_, options_)));
  std::map<uint64_t, std::string> by_offset;
  for (const Tensor& tensor : catalog.tensors) by_offset[catalog.chunks[tensor.first_chunk].offset] = tensor.key;
  for (const Object& object : catalog.objects) by_offset[object.offset] = object.key;
  std::vector<std::string> keys;
  for (const auto& [offset, key] : by_offset) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("step", "empty", "pair", "w"));
  catalog_.state_order.clear();
  EXPECT_THAT(Regions(Value(PlanDcpOutput(catalog_, options_))),
              ElementsAre("a.distcp w+16", "a.distcp pair+12", "a.distcp pair+8"));
}

TEST_F(DcpOutputTest, AlignsTensorsInTheirFiles) {
  UsePart(0, 1, 0);
  UsePart(1, 2, 0);
  UsePart(3, 1, 1);
  UseWhole(kStep, 1);
  const Plan plan = Value(PlanDcpOutput(catalog_, options_));
  EXPECT_TRUE(CheckPlan(plan));
  EXPECT_THAT(Regions(plan), ElementsAre("a.distcp w+4", "a.distcp w+8", "b.distcp w+4"));
  for (const Region& region : plan.regions) EXPECT_EQ(region.offset % 4096, 0U);
  EXPECT_EQ(plan.regions[1].piece_count, 2U);  // from both files of the source
}

TEST_F(DcpOutputTest, DescribesWhatItWrites) {
  UsePart(0, 1, 1);
  UsePart(1, 3, 0);
  UseWhole(kStep, 1);
  options_.paths[kW] = {"model", "layer.w", uint64_t{0}};
  const Catalog catalog = Described(Value(PlanDcpOutput(catalog_, options_)));
  ASSERT_EQ(catalog.entries.size(), 2U);
  const Tensor& tensor = catalog.tensors.at(0);
  EXPECT_EQ(tensor.key, "model.layer.w.0");
  EXPECT_EQ(catalog.KeyPathOf(tensor), options_.paths[kW]);
  EXPECT_EQ(tensor.shape, Dims{4});
  std::vector<std::string> chunks;
  for (const Chunk& chunk : catalog.ChunksOf(tensor))
    chunks.push_back(catalog.files[chunk.file].path + " " + ToString(catalog.BoxOf(tensor, chunk)));
  EXPECT_THAT(chunks, ElementsAre("b.distcp [0:1]", "a.distcp [1:4]"));
  EXPECT_TRUE(catalog.nested);
}

TEST_F(DcpOutputTest, RecordsNoPathsWhenFlat) {
  UseAll();
  options_.nested = false;
  EXPECT_FALSE(Described(Value(PlanDcpOutput(catalog_, options_))).nested);
}

TEST_F(DcpOutputTest, FollowsTheVersion) {
  UseAll();
  options_.compat = Value(dcp::CompatOf("1.13"));
  const Plan plan = Value(PlanDcpOutput(catalog_, options_));
  EXPECT_THAT(plan.TextOf(plan.literals.back()).bytes, HasSubstr("torch.distributed._shard.checkpoint.metadata"));
  EXPECT_EQ(Described(plan).entries.size(), 4U);
}

TEST_F(DcpOutputTest, RefusesTwoEntriesOfOneKey) {
  UseAll();
  options_.paths[kW] = {"x", "y"};
  options_.paths[kStep] = {"x.y"};
  const Error error = test::ErrorOf(PlanDcpOutput(catalog_, options_));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("\"w\" and \"step\""));
  EXPECT_THAT(error.message(), HasSubstr("\"x.y\""));
}

}  // namespace
}  // namespace dcpctl::ops
