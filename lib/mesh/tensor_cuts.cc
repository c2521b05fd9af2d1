#include "mesh/tensor_cuts.h"

#include <optional>
#include <string>

#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::mesh {
namespace {

// The tensor dimension that each mesh dimension cuts, if any.
Result<std::vector<std::optional<size_t>>> FindDims(DimsView shape, const DeviceMesh& mesh,
                                                    const Placements& placements) {
  std::vector<std::optional<size_t>> dims(placements.size());
  if (shape.empty()) return dims;
  const auto count = static_cast<int64_t>(shape.size());
  for (size_t m = 0; m < placements.size(); ++m) {
    const int64_t dim = placements[m].dim;
    if (placements[m].kind == Placement::Kind::kReplicate) continue;
    if (dim >= count || dim < -count)
      return Fail(ErrorKind::kUsage, "a tensor of shape " + ToString(shape) + " cannot be cut by " +
                                         mesh.dims()[m].name + ":" + ToString(placements[m]) +
                                         ", expected a dimension from " + std::to_string(-count) + " to " +
                                         std::to_string(count - 1));
    dims[m] = static_cast<size_t>(dim < 0 ? dim + count : dim);
  }
  return dims;
}

}  // namespace

Result<TensorCuts> MakeTensorCuts(DimsView shape, const DeviceMesh& mesh, const Placements& placements) {
  DCPCTL_ASSIGN(const auto dims, FindDims(shape, mesh, placements));
  TensorCuts result{.dims = std::vector<DimCuts>(shape.size()), .replicas = {}};
  for (size_t m = 0; m < placements.size(); ++m) {
    if (!dims[m]) {
      if (mesh.dims()[m].size > 1) result.replicas.push_back(m);
      continue;
    }
    Cut cut{.parts = mesh.dims()[m].size, .split_factor = 1, .rank_step = mesh.RankStep(m)};
    if (placements[m].kind == Placement::Kind::kStridedShard) {
      cut.split_factor = placements[m].split_factor;
      if (cut.split_factor == Placement::kPartsOfLaterDims) {
        // What FSDP2 gives its own dimension (FSDPParam): tensor parallelism cuts first, though its dimension is later.
        cut.split_factor = 1;
        for (size_t later = m + 1; later < placements.size(); ++later)
          cut.split_factor *= dims[later] == dims[m] ? mesh.dims()[later].size : 1;
      }
    }
    result.dims[*dims[m]].cuts.push_back(cut);
    result.dims[*dims[m]].mesh_dims.push_back(m);
  }
  return result;
}

}  // namespace dcpctl::mesh
