#include "engine/block_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::SameBytes;
using test::Sample;
using test::Value;

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Scanned {
  std::vector<std::string> data;  // by region
  std::vector<std::optional<Error>> errors;
};

Scanned ScanAll(MemoryFileSystem& files, const Plan& plan, unsigned jobs, uint64_t memory) {
  Scanned scanned;
  std::vector<std::vector<uint64_t>> next;
  for (const Region& region : plan.regions) {
    const uint64_t elements = region.bytes / region.item_bytes;
    scanned.data.emplace_back(region.bytes, '\xee');
    for (next.emplace_back(); next.back().size() * kScanGroup < elements;)
      next.back().push_back(next.back().size() * kScanGroup);
  }
  scanned.errors =
      Value(ScanBlocks({.plan = plan, .files = files, .scratch_directory = "/", .jobs = jobs, .memory_bytes = memory},
                       [&](const ScanBlock& block) -> Result<void> {
                         const Region& region = plan.regions[block.region];
                         const uint64_t elements = region.bytes / region.item_bytes;
                         uint64_t& expected = next[block.region][block.group];
                         EXPECT_EQ(block.first, expected);
                         EXPECT_EQ(block.count, std::min(kScanBlock, elements - block.first));
                         EXPECT_EQ(block.bytes.size(), block.count * region.item_bytes);
                         expected += block.count;
                         // Groups are shown by several threads at once: each writes to its own part.
                         std::memcpy(scanned.data[block.region].data() + block.first * region.item_bytes,
                                     block.bytes.data(), block.bytes.size());
                         return {};
                       }));
  return scanned;
}

// Tensors longer than a block and than a group among them, stored in all ways.
Sample LongSample() {
  Sample sample = test::MixedSample();
  sample.AddPlain("long", DType::kInt16, {3, 700'001}, test::GridTiling(Dims{3, 700'001}, Dims{1, 3}));
  return sample;
}

TEST(BlockScan, ShowsEveryElementInBlocksOfItsPlace) {
  MemoryFileSystem files;
  Sample sample = LongSample();
  const Plan plan = sample.Store(files);
  for (const unsigned jobs : {1u, 3u}) {
    for (const uint64_t memory : {4 * kMiB, 128 * kMiB}) {
      SCOPED_TRACE(std::to_string(jobs) + " jobs, " + std::to_string(memory) + " bytes");
      const Scanned scanned = ScanAll(files, plan, jobs, memory);
      for (size_t r = 0; r < plan.regions.size(); ++r) {
        EXPECT_FALSE(scanned.errors[r]) << scanned.errors[r]->ToString();
        EXPECT_TRUE(SameBytes(scanned.data[r], sample.data(r))) << plan.KeyOf(plan.regions[r]);
      }
    }
  }
}

TEST(BlockScan, GoesOnWithOthersWhenATensorCannotBeRead) {
  MemoryFileSystem files;
  Sample sample(71);
  sample.Add("torn", DType::kFloat32, {500}, {{.box = {{0}, {500}}, .codec = Codec::kDeflate}});
  sample.AddPlain("whole", DType::kFloat32, {500}, {{{0}, {500}}});
  sample.Damage(0, 0);
  const Plan plan = sample.Store(files);
  const Scanned scanned = ScanAll(files, plan, 2, 8 * kMiB);
  ASSERT_TRUE(scanned.errors[0]);
  EXPECT_EQ(scanned.errors[0]->kind(), ErrorKind::kCorrupt);
  EXPECT_FALSE(scanned.errors[1]);
  EXPECT_TRUE(SameBytes(scanned.data[1], sample.data(1)));
}

TEST(BlockScan, FindsWhatIsNotAsItWasWritten) {
  MemoryFileSystem files;
  Sample sample(72);
  const Dims shape = {3, 500'001};
  sample.AddPlain("damaged", DType::kFloat32, shape, test::GridTiling(shape, Dims{1, 2}));
  sample.AddPlain("whole", DType::kFloat32, shape, test::GridTiling(shape, Dims{1, 2}));
  sample.Damage(1, 77'777);
  const Plan plan = sample.Store(files);
  for (const unsigned jobs : {1u, 3u}) {
    const Scanned scanned = ScanAll(files, plan, jobs, 32 * kMiB);
    ASSERT_TRUE(scanned.errors[0]);
    EXPECT_EQ(scanned.errors[0]->kind(), ErrorKind::kCorrupt);
    EXPECT_NE(scanned.errors[0]->Text().find("CRC-32"), std::string::npos) << scanned.errors[0]->Text();
    EXPECT_FALSE(scanned.errors[1]);
  }
}

TEST(BlockScan, StopsForTheOneWhoLooks) {
  MemoryFileSystem files;
  Sample sample = LongSample();
  const Plan plan = sample.Store(files);
  const auto look = [](const ScanBlock&) -> Result<void> { return Fail(ErrorKind::kUnsupported, "no more"); };
  EXPECT_EQ(ErrorOf(ScanBlocks({.plan = plan, .files = files, .scratch_directory = "/"}, look)).kind(),
            ErrorKind::kUnsupported);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(
      ErrorOf(ScanBlocks({.plan = plan, .files = files, .scratch_directory = "/", .stop = stop.get_token()}, look))
          .kind(),
      ErrorKind::kCancelled);
  EXPECT_EQ(
      ErrorOf(ScanBlocks({.plan = plan, .files = files, .scratch_directory = "/", .memory_bytes = kMiB}, look)).kind(),
      ErrorKind::kLimit);
}

}  // namespace
}  // namespace dcpctl::engine
