// Bytes that land in the memory of a device, where tiles are put together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "engine/device_tiles.h"
#include "engine/runner.h"
#include "support/result.h"
#include "support/temp_directory.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/landing_files.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::BufferFile;
using test::ErrorOf;
using test::LandingFiles;
using test::MemoryFileSystem;
using test::SameBytes;
using test::Sample;
using test::Value;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A tensor that is cut in rows, one in columns, and one that is stored the other way round. Chunks 0 to 3, 4 to 6, 7.
Sample Plain() {
  Sample sample(71);
  sample.AddPlain("rows", DType::kFloat32, {900, 700}, test::GridTiling(Dims{900, 700}, Dims{4, 1}));
  sample.AddPlain("columns", DType::kInt64, {300, 411}, test::GridTiling(Dims{300, 411}, Dims{1, 3}));
  sample.Add("transposed", DType::kFloat16, {40, 25}, {{.box = {{0, 0}, {40, 25}}, .strides = {1, 40}}});
  return sample;
}

class Landing : public testing::Test {
 protected:
  Landing() { setenv("DCPCTL_FAKE_DEVICE_LOG", log_.c_str(), 1); }
  ~Landing() override { unsetenv("DCPCTL_FAKE_DEVICE_LOG"); }

  Result<RunOutcome> Run(LandingFiles& files, const Plan& plan, BufferFile& out, uint64_t memory = 16 * kMiB) {
    const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
    return RunToFile(files.files(), plan, out, {.jobs = 2, .memory_bytes = memory, .device = device.get()});
  }

  // Bytes that were, in all runs.
  uint64_t Uploaded() const {
    std::ifstream log(log_);
    uint64_t sum = 0;
    for (uint64_t bytes = 0; log >> bytes;) sum += bytes;
    return sum;
  }

  test::TempDirectory folder_;
  std::string log_ = (folder_.path() / "log").string();
  MemoryFileSystem memory_;
};

TEST_F(Landing, TakesTheWayThroughTheProgramFromNothing) {
  Sample sample = Plain();
  const Plan plan = sample.Store(memory_);
  LandingFiles files(memory_);
  for (const uint64_t memory : {4 * kMiB, 64 * kMiB}) {
    BufferFile out(plan.outputs[0].bytes);
    const RunOutcome outcome = Value(Run(files, plan, out, memory));
    EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
    EXPECT_GT(outcome.bytes_read, 3 * kMiB);
  }
  EXPECT_GT(files.landed(), 6 * kMiB);
  EXPECT_EQ(files.fetched(), 0U);
  EXPECT_EQ(Uploaded(), 0U);
}

TEST_F(Landing, IsNotForWhatHasToBeDecodedOrSwapped) {
  Sample sample(72);
  for (const bool foreign : {false, true}) {
    for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
      sample.Add(std::to_string(foreign) + std::to_string(static_cast<int>(codec)), DType::kInt32, {1000},
                 {{.box = {{0}, {1000}}, .big_endian = foreign, .codec = codec}});
    }
  }
  const Plan plan = sample.Store(memory_);
  LandingFiles files(memory_);
  BufferFile out(plan.outputs[0].bytes);
  Value(Run(files, plan, out));
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
  EXPECT_EQ(files.landed(), 4'000U);
  EXPECT_EQ(Uploaded(), 12'000U);
}

TEST_F(Landing, MayBeImpossible) {
  Sample sample = Plain();
  const Plan plan = sample.Store(memory_);
  LandingFiles files(memory_);
  files.apart = true;
  BufferFile out(plan.outputs[0].bytes);
  const RunOutcome outcome = Value(Run(files, plan, out));
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
  EXPECT_EQ(files.landed(), 0U);
  EXPECT_EQ(files.fetched(), outcome.bytes_read);
  EXPECT_EQ(Uploaded(), outcome.bytes_read);
}

TEST_F(Landing, FindsDamageAllTheSame) {
  for (const uint64_t chunk : {1U, 5U, 7U}) {
    Sample sample = Plain();
    sample.Damage(chunk, 1'000);
    const Plan plan = sample.Store(memory_);
    LandingFiles files(memory_);
    BufferFile out(plan.outputs[0].bytes);
    const Error error = ErrorOf(Run(files, plan, out));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_THAT(error.ToString(), HasSubstr("CRC-32 of the storage is "));
    EXPECT_EQ(error.place().offset, sample.PlaceOf(chunk).offset);
  }
}

TEST_F(Landing, FailsWithWhatTheOtherProcessSays) {
  Sample sample = Plain();
  const Plan plan = sample.Store(memory_);
  LandingFiles files(memory_);
  files.error = Error(ErrorKind::kIo, "disk is on fire");
  BufferFile out(plan.outputs[0].bytes);
  EXPECT_THAT(ErrorOf(Run(files, plan, out)).Text(), HasSubstr("disk is on fire"));
}

// Whose scratch is freed then, though bytes may still be on their way to the lane.
TEST(DeviceTiles, WaitForWhatUsesTheirScratch) {
  const auto device = Value(plugin::OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, "cuda", 0));
  std::vector<std::byte> scratch(20, std::byte{7});
  auto tiles = Value(DeviceTiles::Open(*device, scratch, 10));
  const DevicePart part = tiles->PartFor(std::span(scratch).subspan(5, 10));
  Value(tiles->Upload(scratch));
  tiles.reset();
  EXPECT_EQ(part.address()[9], std::byte{7});
}

}  // namespace
}  // namespace dcpctl::engine
