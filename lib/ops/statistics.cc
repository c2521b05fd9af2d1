#include "ops/statistics.h"

#include <string>
#include <utility>

#include "base/result.h"
#include "engine/block_scan.h"
#include "ops/accumulator.h"
#include "ops/selected_source.h"
#include "plan/plan_builder.h"
#include "plugin/math.h"

namespace dcpctl::ops {
namespace {

bool IsReal(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt64:
    case DType::kUInt32:
    case DType::kUInt16:
    case DType::kUInt8:
    case DType::kBool: return true;
    default: return IsFloatingPoint(dtype);
  }
}

class TensorScan {
 public:
  TensorScan(const Catalog& catalog, const plugin::TensorMathV1& math) : catalog_(catalog), math_(math) {
    result_.tensors.resize(catalog.tensors.size());
    result_.errors.resize(catalog.tensors.size());
  }

  Result<ScannedTensors> Run(io::FileSystem& files, const std::vector<bool>& selected, const RunOptions& options) {
    DCPCTL_ASSIGN(const Plan plan, MakePlan(selected));
    uint64_t bytes = 0;
    for (const Region& region : plan.regions) bytes += region.bytes;
    Announce(options, "scan", bytes);
    DCPCTL_ASSIGN(auto errors, engine::ScanBlocks({.plan = plan,
                                                   .files = files,
                                                   .scratch_directory = std::filesystem::temp_directory_path(),
                                                   .jobs = options.jobs,
                                                   .memory_bytes = options.memory_bytes,
                                                   .stop = options.stop,
                                                   .observer = options.observer},
                                                  [this](const engine::ScanBlock& block) { return Look(block); }));
    for (size_t r = 0; r < errors.size(); ++r) Finish(r, std::move(errors[r]));
    return std::move(result_);
  }

 private:
  Result<Plan> MakePlan(const std::vector<bool>& selected) {
    PlanBuilder builder(catalog_);
    for (size_t i = 0; i < catalog_.entries.size(); ++i) {
      if (!selected[i] || !catalog_.entries[i].is_tensor) continue;
      const uint32_t index = catalog_.entries[i].index;
      const Tensor& tensor = catalog_.tensors[index];
      if (!IsReal(tensor.dtype)) continue;
      if (!plugin::HasType(math_, tensor.dtype)) {
        result_.unknown.push_back(index);
        continue;
      }
      const uint64_t elements = Numel(tensor.shape).value_or(0);
      builder.AddTensor(builder.AddOutput(std::string(tensor.key), elements * ItemBytes(tensor.dtype)), 0, tensor);
      groups_.emplace_back((elements + engine::kScanGroup - 1) / engine::kScanGroup, Accumulator(tensor.dtype));
      tensors_.push_back(index);
    }
    Plan plan = std::move(builder).Finish();
    DCPCTL_TRY(CheckPlan(plan));
    return plan;
  }

  Result<void> Look(const engine::ScanBlock& block) {
    const DType dtype = catalog_.tensors[tensors_[block.region]].dtype;
    DCPCTL_ASSIGN(const plugin::StatisticsV1 statistics,
                  plugin::StatisticsOfElements(math_, dtype, block.count, block.bytes));
    groups_[block.region][block.group].Add(statistics, block.first);
    return {};
  }

  void Finish(size_t region, std::optional<Error> error) {
    const uint32_t index = tensors_[region];
    result_.errors[index] = std::move(error);
    if (result_.errors[index]) return;
    Accumulator all(catalog_.tensors[index].dtype);
    for (const Accumulator& group : groups_[region]) all.Add(group);
    result_.tensors[index] = ScannedTensor{
        .stats = all.Stats(), .elements = all.count(), .first_nan = all.first_nan(), .first_inf = all.first_inf()};
  }

  const Catalog& catalog_;
  const plugin::TensorMathV1& math_;
  std::vector<uint32_t> tensors_;                 // by region
  std::vector<std::vector<Accumulator>> groups_;  // by region; each is filled by one thread
  ScannedTensors result_;
};

}  // namespace

Result<ScannedTensors> ScanTensors(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                                   const RunOptions& options, std::string_view purpose) {
  DCPCTL_ASSIGN(const plugin::TensorMath math, plugin::OpenTensorMath(options.plugins, purpose));
  return TensorScan(catalog, *math.table).Run(files, selected, options);
}

}  // namespace dcpctl::ops
