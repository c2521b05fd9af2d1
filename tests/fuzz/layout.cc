// Any bytes as a layout in JSON: what can be read cuts every shape into boxes that lie in it.
#include "fuzz/targets.h"
#include "ops/layout_file.h"

namespace dcpctl::fuzz {
namespace {

void CheckShards(const MeshLayout& layout, const Placements& placements) {
  constexpr uint64_t kMostRanks = 16;
  const Dims shape = {5, 3, 0, 7};
  for (uint64_t rank = 0; rank < layout.mesh.world_size() && rank < kMostRanks; ++rank) {
    for (size_t dims = 0; dims <= shape.size(); ++dims) {
      const DimsView view = DimsView(shape).first(dims);
      const auto shard = ShardOf(view, layout.mesh, placements, rank, SmallLimits());
      if (!shard) continue;
      for (size_t d = 0; d < dims; ++d)
        Require(shard->offsets[d] + shard->sizes[d] <= view[d], "a shard lies in its tensor");
    }
  }
}

}  // namespace

void FuzzLayout(Bytes input) {
  const auto layout = ops::ReadLayoutFile(SourceOf(input), SmallLimits());
  if (!layout) {
    Require(layout.error().kind() != ErrorKind::kInternal, "a layout is refused as it may be",
            layout.error().ToString());
    return;
  }
  const auto again = ParseMesh(ToString(layout->mesh), SmallLimits());
  Require(again.has_value() && ToString(*again) == ToString(layout->mesh), "a mesh can be written down");
  CheckShards(*layout, layout->fallback.placements);
  for (const PlacementRule& rule : layout->rules) CheckShards(*layout, rule.placements);
}

}  // namespace dcpctl::fuzz
