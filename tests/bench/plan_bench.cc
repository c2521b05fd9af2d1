// Plans how a synthetic checkpoint of many ranks is cut for another number of ranks, and moves nothing: sources are
// zeros in memory and what is put together is thrown away.
//
//   plan_bench [FROM_RANKS TO_RANKS TENSORS...]     default: 1024 1536 125 250 500 1000
//
// One line for each number of tensors: source chunks and processor seconds of each stage, then what a chunk took in
// all. The number in the last column stays the same when time goes with the chunks alone.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "dcpctl/mesh.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "ops/dcp_placement.h"
#include "plan/schedule.h"
#include "support/memory_file_system.h"
#include "tests/plan/sample_catalog.h"

namespace {

using namespace dcpctl;

constexpr uint64_t kColumns = 16;
constexpr uint64_t kItem = 2;  // bfloat16
constexpr uint64_t kRows = 3;  // of a source chunk

template <typename T>
T Require(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  std::exit(1);
}

void Require(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  std::exit(1);
}

// Of the processor: everything here is done by one thread, and the machine may have other things to do.
class Stopwatch {
 public:
  double Lap() {
    const std::clock_t now = std::clock();
    return static_cast<double>(now - std::exchange(start_, now)) / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t start_ = std::clock();
};

class Nowhere final : public engine::Target {
 public:
  Result<void> Begin(uint64_t /*number*/) override { return {}; }
  Result<void> Write(uint32_t /*output*/, uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {
    return {};
  }
  void End(uint64_t /*number*/, bool /*ok*/) override {}
  [[nodiscard]] bool ordered() const override { return false; }
};

test::CatalogBuilder MakeSource(uint64_t ranks, uint64_t tensors, test::MemoryFileSystem& files) {
  test::CatalogBuilder builder;
  const uint64_t bytes = kRows * kColumns * kItem;
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    const std::string name = "__" + std::to_string(rank) + "_0.distcp";
    files.Put("/ckpt/" + name, std::string(tensors * bytes, '\0'));
    builder.AddFile(name, tensors * bytes);
    builder.catalog().files.back().mtime_ns = Require(files.Stat("/ckpt/" + name)).mtime_ns;
  }
  for (uint64_t t = 0; t < tensors; ++t) {
    builder.AddTensor("model.layers." + std::to_string(t) + ".mlp.down_proj.weight", DType::kBFloat16,
                      {ranks * kRows, kColumns});
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      builder.AddChunk({{rank * kRows, 0}, {kRows, kColumns}}, static_cast<uint32_t>(rank),
                       {.offset = t * bytes, .bytes = bytes});
    }
  }
  return builder;
}

void Measure(uint64_t from, uint64_t to, uint64_t tensors) {
  test::MemoryFileSystem files;
  auto builder = MakeSource(from, tensors, files);
  const Catalog& catalog = builder.catalog();

  Stopwatch watch;
  const std::vector<LayoutEntry> entries = ListLayoutEntries(catalog, std::vector<bool>(tensors, true));
  const RankLayout layout = Require(
      AssignRanks(entries, Require(MakeFsdpLayout(to)), [](std::string_view, std::string_view) { return false; }));
  const double assigned = watch.Lap();
  ops::DcpOutputOptions options;
  options.compat = dcp::DefaultCompat();
  for (const Tensor& tensor : catalog.tensors) options.paths.push_back(tensor.path);
  ops::PlaceRanks(layout, options);
  const Plan plan = Require(ops::PlanDcpOutput(catalog, options));
  const double planned = watch.Lap();
  Require(CheckPlan(plan));
  const double checked = watch.Lap();
  const Schedule schedule = Require(MakeSchedule(plan, {.jobs = 1}));
  const double scheduled = watch.Lap();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Nowhere nowhere;
  Require(engine::RunPlan(
      {.plan = plan, .schedule = schedule, .files = files, .target = nowhere, .scratch_directory = "/"}));
  const double moved = watch.Lap();

  const double all = assigned + planned + checked + scheduled;
  std::printf("%7llu  %9zu  %9zu  %6.2f  %6.2f  %6.2f  %8.2f  %6.2f  %7.2f  %8ld  %6.2f\n",
              static_cast<unsigned long long>(tensors), catalog.chunks.size(), plan.pieces.size(), assigned, planned,
              checked, scheduled, all, moved, usage.ru_maxrss / 1024,
              1e6 * all / static_cast<double>(catalog.chunks.size()));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint64_t> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(std::strtoull(argv[i], nullptr, 10));
  if (numbers.empty()) numbers = {1024, 1536, 125, 250, 500, 1000};
  std::printf("%llu ranks to %llu\n", static_cast<unsigned long long>(numbers[0]),
              static_cast<unsigned long long>(numbers[1]));
  std::printf("TENSORS     CHUNKS     PIECES  ASSIGN    PLAN   CHECK  SCHEDULE     ALL  NO MOVE  PEAK MiB  us/CHUNK\n");
  for (size_t i = 2; i < numbers.size(); ++i) Measure(numbers[0], numbers[1], numbers[i]);
  return 0;
}
