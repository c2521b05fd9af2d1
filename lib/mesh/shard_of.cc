#include <utility>

#include "base/checked.h"
#include "base/result.h"
#include "dcpctl/mesh.h"
#include "mesh/grid.h"
#include "mesh/split.h"
#include "mesh/tensor_cuts.h"

namespace dcpctl {
namespace {

Result<std::vector<mesh::Runs>> RunsOfRank(DimsView shape, const mesh::TensorCuts& cuts, const DeviceMesh& mesh,
                                           uint64_t rank, const mesh::Budget& budget) {
  std::vector<mesh::Runs> runs;
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<uint64_t> coordinates;
    for (const size_t m : cuts.dims[d].mesh_dims) coordinates.push_back(mesh.Coordinate(rank, m));
    DCPCTL_ASSIGN(mesh::Runs of_dim, mesh::RunsOf(shape[d], cuts.dims[d].cuts, coordinates, budget));
    runs.push_back(std::move(of_dim));
  }
  return runs;
}

}  // namespace

Result<LocalShard> ShardOf(DimsView shape, const DeviceMesh& mesh, const Placements& placements, uint64_t rank,
                           const Limits& limits) {
  DCPCTL_ASSIGN(const mesh::TensorCuts cuts, mesh::MakeTensorCuts(shape, mesh, placements));
  mesh::Budget budget(limits.boxes);
  DCPCTL_ASSIGN(const std::vector<mesh::Runs> runs, RunsOfRank(shape, cuts, mesh, rank, budget));
  LocalShard shard;
  Dims counts;
  std::vector<const mesh::Runs*> pointers;
  for (size_t d = 0; d < shape.size(); ++d) {
    shard.sizes.push_back(0);
    for (const mesh::Run& run : runs[d]) shard.sizes.back() += run.size;
    shard.offsets.push_back(runs[d].empty() ? shape[d] : runs[d][0].begin);
    counts.push_back(runs[d].size());
    pointers.push_back(&runs[d]);
  }
  DCPCTL_TRY(budget.Spend(CheckedProduct(counts).value_or(UINT64_MAX)));
  mesh::ForEachBox(pointers, [&shard](DimsView offsets, DimsView sizes) {
    shard.boxes.push_back({.offsets = {offsets.begin(), offsets.end()}, .sizes = {sizes.begin(), sizes.end()}});
  });
  return shard;
}

}  // namespace dcpctl
