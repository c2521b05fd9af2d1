#include "ops/cast.h"

#include <string>

#include "base/quote.h"
#include "base/result.h"
#include "plugin/math.h"

namespace dcpctl::ops {
namespace {

// An element of a packed type is two numbers: a tensor of another type would have another shape.
bool CanBeCast(DType dtype) { return IsFloatingPoint(dtype) && dtype != DType::kFloat4E2M1FNx2; }

}  // namespace

Result<void> CheckCastOptions(const ConvertOptions& options) {
  if (!options.dtype) return {};
  if (!CanBeCast(*options.dtype)) {
    return Fail(Error(ErrorKind::kUsage, "tensors cannot be cast to " + std::string(Name(*options.dtype)) +
                                             ", expected a floating-point type that is not packed")
                    .Advise("--dtype takes float32, bfloat16, float16, float8_e4m3fn, ..."));
  }
  if (options.data == DataPolicy::kRewrite) return {};
  return Fail(Error(ErrorKind::kUsage, "a cast writes data files anew, and they are to be taken over as they are")
                  .Advise("leave out --dtype, or --data and --metadata-only"));
}

CastTotals SetDType(Catalog& catalog, const std::vector<bool>& selected, DType to) {
  CastTotals totals{.to = to};
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i] || !catalog.entries[i].is_tensor) continue;
    Tensor& tensor = catalog.tensors[catalog.entries[i].index];
    if (!CanBeCast(tensor.dtype)) {
      ++totals.other;
    } else if (tensor.dtype == to) {
      ++totals.same;
    } else {
      ++totals.cast;
      tensor.stored_dtype = tensor.dtype;
      tensor.dtype = to;
    }
  }
  return totals;
}

Result<const plugin::TensorMathV1*> OpenMathFor(const Plan& plan, const RunOptions& options) {
  if (!plan.needs.tensor_math) return nullptr;
  DCPCTL_ASSIGN(const plugin::TensorMath math, plugin::OpenTensorMath(options.plugins, "--dtype"));
  for (const Region& region : plan.regions) {
    if (!region.cast) continue;
    for (const DType type : {region.cast->from, region.cast->to}) {
      if (plugin::HasType(*math.table, type)) continue;
      return Fail(Error(ErrorKind::kUnsupported, std::string(math.library) + " does not cast " +
                                                     std::string(type == region.cast->to ? "to " : "from ") +
                                                     std::string(Name(type)) + " (tensor " + Quote(plan.KeyOf(region)) +
                                                     ")")
                      .Advise("build the plug-in on a newer LibTorch, or leave the tensor out"));
    }
  }
  return math.table;
}

}  // namespace dcpctl::ops
