#include "engine/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_builder.h"
#include "support/result.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Sample;
using test::Value;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// All tensors, one after the other.
Plan PlanAll(const Catalog& catalog) {
  PlanBuilder builder(catalog);
  uint64_t offset = 0;
  for (const Tensor& tensor : catalog.tensors) {
    builder.AddTensor(0, offset, tensor);
    offset += *Numel(tensor.shape) * ItemBytes(tensor.dtype);
  }
  builder.AddOutput("", offset);
  return std::move(builder).Finish();
}

// The bytes of each region as they came; the visitor sees to it that none comes twice.
struct Collected {
  std::vector<std::string> bytes;
  bool in_order = true;
};

Collected Collect(const ScanInput& input) {
  Collected found;
  for (const Region& region : input.plans[0].regions) found.bytes.emplace_back(region.bytes, '?');
  std::vector<uint64_t> end(found.bytes.size());
  std::vector<std::vector<bool>> seen;
  for (const std::string& bytes : found.bytes) seen.emplace_back(bytes.size());
  std::mutex mutex;
  Value(ScanPlans(input, [&](uint32_t region, uint64_t begin, auto tiles) -> Result<void> {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(tiles.size(), input.plans.size());
    found.in_order = found.in_order && end[region] == begin;
    end[region] = begin + tiles[0].size();
    for (const auto& tile : tiles) EXPECT_TRUE(std::equal(tile.begin(), tile.end(), tiles[0].begin(), tiles[0].end()));
    for (uint64_t i = 0; i < tiles[0].size(); ++i) {
      EXPECT_FALSE(seen[region][begin + i]);
      seen[region][begin + i] = true;
      found.bytes[region][begin + i] = static_cast<char>(tiles[0][i]);
    }
    return {};
  }));
  return found;
}

TEST(Scan, GivesTheBytesOfEveryTensorOnce) {
  MemoryFileSystem files;
  Sample sample = test::MixedSample();
  sample.Store(files);
  const std::vector<Plan> plans = {PlanAll(sample.catalog())};
  for (const ScanOrder order : {ScanOrder::kAny, ScanOrder::kInRegion}) {
    for (const unsigned jobs : {1U, 4U}) {
      for (const uint64_t memory : {4 * kMiB, 64 * kMiB}) {
        const Collected found = Collect({.plans = plans,
                                         .files = files,
                                         .scratch_directory = "/tmp",
                                         .order = order,
                                         .jobs = jobs,
                                         .memory_bytes = memory});
        for (size_t t = 0; t < found.bytes.size(); ++t) EXPECT_EQ(found.bytes[t], sample.data(t)) << t;
        EXPECT_TRUE(order == ScanOrder::kAny || found.in_order);
      }
    }
  }
}

// One cut in rows, one in columns, and one that lies transposed: its tiles are larger.
TEST(Scan, TilesOfSeveralPlansMeet) {
  MemoryFileSystem files;
  const Dims shape = {1500, 2000};
  Sample sample(5);
  sample.Add("w", DType::kFloat32, shape, {{.box = {.offsets = {0, 0}, .sizes = shape}, .strides = {1, 1500}}});
  sample.Store(files);
  const std::vector<Plan> plans = {PlanAll(sample.catalog()), PlanAll(sample.catalog())};
  const Collected found =
      Collect({.plans = plans, .files = files, .scratch_directory = "/tmp", .jobs = 3, .memory_bytes = 20 * kMiB});
  EXPECT_EQ(found.bytes[0], sample.data(0));
}

TEST(Scan, FindsDamage) {
  MemoryFileSystem files;
  Sample sample(7);
  sample.AddPlain("w", DType::kFloat32, {300, 7},
                  {{.offsets = {0, 0}, .sizes = {100, 7}}, {.offsets = {100, 0}, .sizes = {200, 7}}});
  sample.Damage(1, 20);
  sample.Store(files);
  const std::vector<Plan> plans = {PlanAll(sample.catalog())};
  const auto visit = [](auto&&...) { return Result<void>(); };
  const Error error = ErrorOf(ScanPlans({.plans = plans, .files = files, .scratch_directory = "/tmp"}, visit));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().offset, sample.PlaceOf(1).offset);
}

TEST(Scan, StopsWithTheVisitor) {
  MemoryFileSystem files;
  Sample sample = test::MixedSample();
  sample.Store(files);
  const std::vector<Plan> plans = {PlanAll(sample.catalog())};
  const auto refuse = [](auto&&...) -> Result<void> { return Fail(ErrorKind::kLimit, "enough"); };
  EXPECT_EQ(ErrorOf(ScanPlans({.plans = plans, .files = files, .scratch_directory = "/tmp"}, refuse)).kind(),
            ErrorKind::kLimit);
}

TEST(Scan, NothingIsNothing) {
  MemoryFileSystem files;
  const Catalog catalog;
  const std::vector<Plan> plans = {PlanAll(catalog)};
  const auto refuse = [](auto&&...) -> Result<void> { return Fail(ErrorKind::kInternal, "a tile of nothing"); };
  EXPECT_EQ(Value(ScanPlans({.plans = plans, .files = files, .scratch_directory = "/tmp"}, refuse)), 0U);
}

}  // namespace
}  // namespace dcpctl::engine
