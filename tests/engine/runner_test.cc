// What a run writes. How it fails is in runner_faults_test.cc.
#include "engine/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_builder.h"
#include "plan/schedule.h"
#include "support/fake_math.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/landing_files.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::BufferFile;
using test::BufferSink;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::Pick;
using test::Random;
using test::RunToFile;
using test::RunToStream;
using test::SameBytes;
using test::Sample;
using test::StoredChunk;
using test::Value;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(Runner, WritesTheSameBytesWhateverTheThreadsMemoryAndTarget) {
  MemoryFileSystem files;
  Sample sample = test::MixedSample();
  const Plan plan = sample.Store(files);
  for (const unsigned jobs : {1u, 2u, 5u}) {
    for (const uint64_t memory : {4 * kMiB, 16 * kMiB, 64 * kMiB}) {
      SCOPED_TRACE(std::to_string(jobs) + " jobs, " + std::to_string(memory) + " bytes");
      const test::RunSettings settings{.jobs = jobs, .memory_bytes = memory};
      BufferFile file(plan.outputs[0].bytes);
      Value(RunToFile(files, plan, file, settings));
      EXPECT_TRUE(SameBytes(file.bytes(), sample.expected()));
      BufferSink sink;
      Value(RunToStream(files, plan, sink, settings));
      EXPECT_TRUE(SameBytes(sink.bytes(), sample.expected()));
    }
  }
}

TEST(Runner, WritesRandomCheckpoints) {
  constexpr DType kDTypes[] = {DType::kUInt8, DType::kFloat16,   DType::kFloat32,
                               DType::kInt64, DType::kComplex64, DType::kComplex128};
  Random random(81);
  const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
  for (uint32_t round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    MemoryFileSystem files;
    Sample sample(1000 + round, round % 3 == 0 ? std::optional<uint64_t>(round) : std::nullopt);
    for (uint64_t t = Pick(random, 1, 6); t > 0; --t) {
      Dims shape = test::RandomShape(random, 3, 12);
      // Now and then longer than a tile.
      if (!shape.empty() && Pick(random, 0, 2) == 0) shape[Pick(random, 0, shape.size() - 1)] = Pick(random, 1, 9000);
      std::vector<StoredChunk> chunks;
      for (const Box& box : test::RandomTiling(random, shape, Pick(random, 0, 8))) {
        StoredChunk chunk{.box = box,
                          .strides = RowMajorStrides(box.sizes),
                          .first_element = Pick(random, 0, 3),
                          .big_endian = Pick(random, 0, 3) == 0,
                          .crc_known = Pick(random, 0, 3) != 0};
        if (Pick(random, 0, 2) == 0) std::reverse(chunk.strides.begin(), chunk.strides.end());
        if (Pick(random, 0, 5) == 0) chunk.codec = Pick(random, 0, 1) == 0 ? Codec::kZstd : Codec::kDeflate;
        chunks.push_back(std::move(chunk));
      }
      sample.Add("t" + std::to_string(t), kDTypes[Pick(random, 0, std::size(kDTypes) - 1)], shape, chunks);
    }
    const Plan plan = sample.Store(files);
    const test::RunSettings settings{.jobs = static_cast<unsigned>(Pick(random, 1, 5)),
                                     .memory_bytes = Pick(random, 4, 20) * kMiB};
    BufferFile file(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, file, settings));
    ASSERT_TRUE(SameBytes(file.bytes(), sample.expected()));
    BufferSink sink;
    Value(RunToStream(files, plan, sink, settings));
    ASSERT_TRUE(SameBytes(sink.bytes(), sample.expected()));
    BufferFile copied(plan.outputs[0].bytes);
    test::RunSettings on_device = settings;
    on_device.device = device.get();
    Value(RunToFile(files, plan, copied, on_device));
    ASSERT_TRUE(SameBytes(copied.bytes(), sample.expected()));
    test::LandingFiles landing(files);
    BufferFile landed(plan.outputs[0].bytes);
    Value(RunToFile(landing.files(), plan, landed, on_device));
    ASSERT_TRUE(SameBytes(landed.bytes(), sample.expected()));
  }
}

TEST(Runner, SaysThatTheDeviceFailed) {
  const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
  ASSERT_EQ(setenv("DCPCTL_FAKE_DEVICE_BYTES", "1000", 1), 0);
  MemoryFileSystem files;
  Sample sample(85);
  sample.AddPlain("x", DType::kFloat32, {3000, 30}, test::GridTiling(Dims{3000, 30}, Dims{3, 1}));
  const Plan plan = sample.Store(files);
  BufferFile file(plan.outputs[0].bytes);
  const Error error = ErrorOf(RunToFile(files, plan, file, {.device = device.get()}));
  unsetenv("DCPCTL_FAKE_DEVICE_BYTES");
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_NE(error.Text().find("out of memory"), std::string::npos) << error.Text();
}

// Narrower, wider and as wide; in tiles of all shapes, from all kinds of storages.
TEST(Runner, CastsTheSameWhateverTheThreadsAndMemory) {
  constexpr DType kTypes[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
  for (const DType to : kTypes) {
    SCOPED_TRACE(Name(to));
    MemoryFileSystem files;
    Sample sample = test::MixedSample();
    sample.Add("long", DType::kFloat64, {600'003},
               {{.box = {{0}, {300'000}}, .big_endian = true}, {.box = {{300'000}, {300'003}}}});
    for (uint64_t t = 0; t < sample.catalog().tensors.size(); ++t) {
      const DType from = sample.catalog().tensors[t].dtype;
      if (IsFloatingPoint(from) && from != to) sample.Cast(t, to);
    }
    const Plan plan = sample.Store(files);
    EXPECT_TRUE(plan.needs.tensor_math);
    const test::RunSettings alone{.jobs = 1, .memory_bytes = 64 * kMiB, .math = &test::kFakeMath};
    BufferFile whole(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, whole, alone));
    EXPECT_TRUE(SameBytes(whole.bytes(), sample.expected()));
    test::RunSettings crowded{.jobs = 3, .memory_bytes = 4 * kMiB, .math = &test::kFakeMath};
    BufferFile file(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, file, crowded));
    EXPECT_TRUE(SameBytes(file.bytes(), sample.expected()));
    BufferSink sink;
    Value(RunToStream(files, plan, sink, crowded));
    EXPECT_TRUE(SameBytes(sink.bytes(), sample.expected()));
    crowded.device = device.get();
    BufferFile copied(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, copied, crowded));
    EXPECT_TRUE(SameBytes(copied.bytes(), sample.expected()));
  }
}

TEST(Runner, FailsWithTheReasonOfTheTensorMaths) {
  MemoryFileSystem files;
  Sample sample(91);
  sample.AddPlain("x", DType::kFloat8E4M3FN, {100}, {{{0}, {100}}});
  sample.Cast(0, DType::kFloat32);
  const Plan plan = sample.Store(files);
  BufferFile file(plan.outputs[0].bytes);
  const Error error = ErrorOf(RunToFile(files, plan, file, {.math = &test::kFakeMath}));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.Text(), "cannot cast from float8_e4m3fn to float32: the fake does not have it");
  EXPECT_EQ(ErrorOf(RunToFile(files, plan, file)).kind(), ErrorKind::kInternal);
}

TEST(Runner, GoesBackToChecksumsThatComeBeforeTheirData) {
  MemoryFileSystem files;
  Sample sample(82);
  sample.AddPlain("large", DType::kFloat32, {3000, 300}, test::GridTiling(Dims{3000, 300}, Dims{3, 1}));
  sample.AddPlain("small", DType::kFloat32, {30}, test::GridTiling(Dims{30}, Dims{2}));
  const Plan plan = sample.Store(files, /*crc_first=*/true);
  for (const unsigned jobs : {1u, 4u}) {
    BufferFile file(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, file, {.jobs = jobs}));
    EXPECT_TRUE(SameBytes(file.bytes(), sample.expected()));
  }
}

TEST(Runner, CannotGoBackInAStream) {
  MemoryFileSystem files;
  Sample sample(83);
  sample.AddPlain("large", DType::kFloat32, {3000, 300}, test::GridTiling(Dims{3000, 300}, Dims{3, 1}));
  const Plan plan = sample.Store(files, /*crc_first=*/true);
  BufferSink sink;
  EXPECT_EQ(ErrorOf(RunToStream(files, plan, sink)).kind(), ErrorKind::kInternal);
}

// Half of each tensor to each of two files: sources are cut, and shared by regions.
TEST(Runner, WritesSeveralOutputsFromSharedSources) {
  MemoryFileSystem files;
  Sample sample(84);
  sample.AddPlain("x", DType::kInt8, {2'000'000}, test::GridTiling(Dims{2'000'000}, Dims{3}));
  sample.AddPlain("y", DType::kInt8, {100, 60}, test::GridTiling(Dims{100, 60}, Dims{1, 1}));
  sample.Store(files);
  PlanBuilder planner(sample.catalog());
  for (uint64_t half = 0; half < 2; ++half) {
    const uint32_t output = planner.AddOutput("/out/" + std::to_string(half), 1'003'000);
    planner.AddBox(output, 0, sample.catalog().tensors[0], Box{{half * 1'000'000}, {1'000'000}}.view());
    planner.AddBox(output, 1'000'000, sample.catalog().tensors[1], Box{{0, half * 30}, {100, 30}}.view());
  }
  const Plan plan = std::move(planner).Finish();
  Value(CheckPlan(plan));
  ASSERT_EQ(plan.sources.size(), 4u);

  BufferFile outputs[] = {BufferFile(1'003'000), BufferFile(1'003'000)};
  FileTarget target({&outputs[0], &outputs[1]});
  const Schedule schedule = Value(MakeSchedule(plan, {.jobs = 3}));
  const RunOutcome outcome =
      Value(RunPlan({.plan = plan, .schedule = schedule, .files = files, .target = target, .scratch_directory = "/"}));
  for (uint64_t half = 0; half < 2; ++half) {
    std::string expected = sample.data(0).substr(half * 1'000'000, 1'000'000);
    for (uint64_t row = 0; row < 100; ++row) expected += sample.data(1).substr(row * 60 + half * 30, 30);
    EXPECT_TRUE(SameBytes(outputs[half].bytes(), expected)) << half;
  }
  // "y" is read in two strided halves and once for its CRC; "x" once.
  EXPECT_LE(outcome.bytes_read, 2'000'000u + 3 * 6000u);
}

TEST(Runner, ReadsContiguousSourcesOnce) {
  MemoryFileSystem files;
  Sample sample(85);
  sample.AddPlain("rows", DType::kFloat32, {3000, 300}, test::GridTiling(Dims{3000, 300}, Dims{3, 1}));
  sample.AddPlain("columns", DType::kFloat32, {3000, 300}, test::GridTiling(Dims{3000, 300}, Dims{1, 3}));
  const Plan plan = sample.Store(files);
  BufferFile file(plan.outputs[0].bytes);
  EXPECT_EQ(Value(RunToFile(files, plan, file)).bytes_read, 7'200'000u);
}

class CountingObserver final : public Observer {
 public:
  void OnBytes(uint64_t bytes) override { bytes_ += bytes; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

TEST(Runner, ReportsEachByteOnce) {
  MemoryFileSystem files;
  Sample sample = test::MixedSample();
  const Plan plan = sample.Store(files);
  for (const bool stream : {false, true}) {
    CountingObserver observer;
    BufferFile file(plan.outputs[0].bytes);
    BufferSink sink;
    const test::RunSettings settings{.jobs = 4, .observer = &observer};
    Value(stream ? RunToStream(files, plan, sink, settings) : RunToFile(files, plan, file, settings));
    EXPECT_EQ(observer.bytes(), plan.outputs[0].bytes);
  }
}

TEST(Runner, SpillsDecodedSourcesThatDoNotFit) {
  MemoryFileSystem files;
  Sample sample(86);
  sample.Add("x", DType::kFloat32, {1'500'000}, {{.box = {{0}, {1'500'000}}, .codec = Codec::kDeflate}});
  const Plan plan = sample.Store(files);
  for (const uint64_t memory : {4 * kMiB, 64 * kMiB}) {
    files.SetFaults({});
    BufferFile file(plan.outputs[0].bytes);
    Value(RunToFile(files, plan, file, {.jobs = 3, .memory_bytes = memory}));
    EXPECT_TRUE(SameBytes(file.bytes(), sample.expected()));
    const auto calls = files.calls();
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "scratch /"), memory == 4 * kMiB ? 1 : 0);
  }
}

TEST(Runner, WritesAnEmptyPlan) {
  MemoryFileSystem files;
  Plan plan;
  plan.outputs.push_back({.path = "out", .bytes = 0});
  BufferFile file(0);
  Value(RunToFile(files, plan, file));
}

}  // namespace
}  // namespace dcpctl::engine
