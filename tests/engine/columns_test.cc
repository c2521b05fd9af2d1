// Tensors in row shards that several outputs take columns of.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "plan/plan_builder.h"
#include "support/fake_math.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/landing_files.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::BufferFile;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::SameBytes;
using test::Sample;
using test::StoredChunk;
using test::Value;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The elements of a box of a row-major tensor, by plain index arithmetic.
std::string BoxOf(const std::string& data, DimsView shape, uint64_t item, const Box& box) {
  std::string bytes;
  const uint64_t numel = *Numel(shape);
  for (uint64_t e = 0; e < numel; ++e) {
    uint64_t rest = e;
    bool inside = true;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      const uint64_t at = rest % shape[d];
      inside = inside && at >= box.offsets[d] && at < box.offsets[d] + box.sizes[d];
    }
    if (inside) bytes += data.substr(e * item, item);
  }
  return bytes;
}

class Columns : public testing::Test {
 protected:
  // Each output gets its columns of each tensor of the sample.
  void Store(Sample sample, size_t dim, uint64_t outputs) {
    sample_ = std::move(sample);
    sample_->Store(files_);
    PlanBuilder planner(sample_->catalog());
    for (uint64_t o = 0; o < outputs; ++o) {
      std::string expected;
      std::vector<std::pair<uint64_t, Box>> places;
      for (size_t t = 0; t < sample_->catalog().tensors.size(); ++t) {
        const Tensor& tensor = sample_->catalog().tensors[t];
        Dims grid(tensor.shape.size(), 1);
        grid[dim] = outputs;
        const Box box = test::GridTiling(tensor.shape, grid)[o];
        places.emplace_back(expected.size(), box);
        expected += BoxOf(sample_->data(t), tensor.shape, ItemBytes(tensor.dtype), box);
      }
      const uint32_t output = planner.AddOutput("/out/" + std::to_string(o), expected.size());
      for (size_t t = 0; t < places.size(); ++t)
        planner.AddBox(output, places[t].first, sample_->catalog().tensors[t], places[t].second.view());
      expected_.push_back(std::move(expected));
    }
    plan_ = std::move(planner).Finish();
    Value(CheckPlan(plan_));
  }

  Result<RunOutcome> Run(unsigned jobs, uint64_t memory, plugin::Device* device = nullptr) {
    return Run(files_, jobs, memory, device);
  }
  Result<RunOutcome> Run(io::FileSystem& from, unsigned jobs, uint64_t memory, plugin::Device* device) {
    outputs_.clear();
    std::vector<io::WriteFile*> files;
    for (const std::string& bytes : expected_) {
      outputs_.push_back(std::make_unique<BufferFile>(bytes.size()));
      files.push_back(outputs_.back().get());
    }
    FileTarget target(files);
    const Schedule schedule = Value(MakeSchedule(plan_, {.jobs = jobs, .memory_bytes = memory}));
    EXPECT_LE(schedule.jobs * (schedule.buffer_bytes + schedule.scratch_bytes + schedule.staging_bytes), memory);
    return RunPlan({.plan = plan_,
                    .schedule = schedule,
                    .files = from,
                    .target = target,
                    .scratch_directory = "/",
                    .device = device,
                    .math = &test::kFakeMath});
  }

  void ExpectAll() {
    for (size_t o = 0; o < expected_.size(); ++o) EXPECT_TRUE(SameBytes(outputs_[o]->bytes(), expected_[o])) << o;
  }

  uint64_t SourceBytes() const {
    uint64_t bytes = 0;
    for (const PlanSource& source : plan_.sources) bytes += source.stored.bytes;
    return bytes;
  }

  MemoryFileSystem files_;
  std::optional<Sample> sample_;
  Plan plan_;
  std::vector<std::string> expected_;
  std::vector<std::unique_ptr<BufferFile>> outputs_;
};

TEST_F(Columns, AreReadOnce) {
  for (const uint64_t outputs : {2U, 3U, 7U}) {
    Sample sample(91);
    sample.AddPlain("a", DType::kFloat32, {1000, 300}, test::GridTiling(Dims{1000, 300}, Dims{4, 1}));
    sample.AddPlain("b", DType::kBFloat16, {700, 411}, test::GridTiling(Dims{700, 411}, Dims{3, 1}));
    expected_.clear();
    Store(std::move(sample), 1, outputs);
    for (const unsigned jobs : {1u, 4u}) {
      EXPECT_EQ(Value(Run(jobs, 64 * kMiB)).bytes_read, SourceBytes());
      ExpectAll();
      Value(Run(jobs, 4 * kMiB));
      ExpectAll();
    }
  }
}

TEST_F(Columns, AreCutOnADevice) {
  const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
  Sample sample(91);
  sample.AddPlain("a", DType::kFloat32, {1000, 300}, test::GridTiling(Dims{1000, 300}, Dims{4, 1}));
  sample.AddPlain("b", DType::kBFloat16, {700, 411}, test::GridTiling(Dims{700, 411}, Dims{3, 1}));
  Store(std::move(sample), 1, 3);
  for (const uint64_t memory : {4 * kMiB, 64 * kMiB}) {
    EXPECT_EQ(Value(Run(4, memory, device.get())).bytes_read, SourceBytes());
    ExpectAll();
    test::LandingFiles landing(files_);
    EXPECT_EQ(Value(Run(landing.files(), 4, memory, device.get())).bytes_read, SourceBytes());
    ExpectAll();
    EXPECT_EQ(landing.landed(), SourceBytes());
  }
}

TEST_F(Columns, AreReadOnceAndCast) {
  for (const auto& [from, to] : {std::pair(DType::kFloat64, DType::kBFloat16), {DType::kFloat16, DType::kFloat64}}) {
    Sample sample(96);
    sample.AddPlain("a", from, {1000, 300}, test::GridTiling(Dims{1000, 300}, Dims{4, 1}));
    sample.AddPlain("b", DType::kInt16, {1000, 300}, test::GridTiling(Dims{1000, 300}, Dims{1, 3}));
    sample.Cast(0, to);
    expected_.clear();
    Store(std::move(sample), 1, 3);
    for (const uint64_t memory : {4 * kMiB, 64 * kMiB}) {
      EXPECT_EQ(Value(Run(2, memory)).bytes_read, SourceBytes());
      ExpectAll();
    }
  }
}

TEST_F(Columns, MayLieInTheMiddleDimension) {
  Sample sample(92);
  sample.AddPlain("a", DType::kInt16, {50, 60, 90}, test::GridTiling(Dims{50, 60, 90}, Dims{3, 1, 1}));
  Store(std::move(sample), 1, 4);
  EXPECT_EQ(Value(Run(3, 64 * kMiB)).bytes_read, SourceBytes());
  ExpectAll();
}

TEST_F(Columns, OfAViewAndOfForeignByteOrder) {
  Sample sample(93);
  sample.Add("a", DType::kInt32, {400, 300},
             {{.box = {{0, 0}, {200, 300}}, .strides = {320, 1}, .first_element = 11, .spare_elements = 7},
              {.box = {{200, 0}, {200, 300}}, .big_endian = true}});
  Store(std::move(sample), 1, 3);
  Value(Run(2, 64 * kMiB));
  ExpectAll();
}

TEST_F(Columns, OfEncodedSources) {
  Sample sample(94);
  sample.Add("a", DType::kFloat32, {400, 300},
             {{.box = {{0, 0}, {200, 300}}, .codec = Codec::kZstd},
              {.box = {{200, 0}, {200, 300}}, .codec = Codec::kDeflate}});
  Store(std::move(sample), 1, 3);
  Value(Run(2, 64 * kMiB));
  ExpectAll();
}

TEST_F(Columns, AreComparedWithTheChecksumsOfTheirRows) {
  Sample sample(95);
  sample.AddPlain("a", DType::kFloat32, {1000, 300}, test::GridTiling(Dims{1000, 300}, Dims{4, 1}));
  sample.Damage(2, 4321);
  const Place place = sample.PlaceOf(2);
  Store(std::move(sample), 1, 4);
  const Error error = ErrorOf(Run(2, 64 * kMiB));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().file, place.file);
  EXPECT_EQ(error.place().offset, place.offset);
}

}  // namespace
}  // namespace dcpctl::engine
