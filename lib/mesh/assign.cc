#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/mesh.h"
#include "mesh/grid.h"
#include "mesh/owners.h"
#include "mesh/rank_layout.h"
#include "mesh/rank_picker.h"
#include "mesh/rule_finder.h"
#include "mesh/tensor_cuts.h"

namespace dcpctl {
namespace {

class Assigner {
 public:
  Assigner(const MeshLayout& layout, const KeyMatcher& matches, const Limits& limits)
      : layout_(layout), finder_(layout.rules, matches), budget_(limits.boxes), picker_(layout.mesh) {
    result_.ranks.resize(layout.mesh.world_size());
    result_.rule_tensors.resize(layout.rules.size() + 1);
    for (size_t d = 0; d < layout.mesh.dims().size(); ++d) {
      if (layout.mesh.dims()[d].size > 1) all_dims_.push_back(d);
    }
  }

  Result<RankLayout> Run(std::span<const LayoutEntry> entries) {
    DCPCTL_TRY(mesh::CheckTotalBytes(entries));
    for (const LayoutEntry& entry : entries) {
      if (!entry.is_tensor) {
        AssignWhole(entry);
        continue;
      }
      const size_t rule = finder_.Find(entry.key);
      ++result_.rule_tensors[rule];
      DCPCTL_TRY(AssignTensor(entry, rule < layout_.rules.size() ? layout_.rules[rule] : layout_.fallback));
    }
    DCPCTL_TRY(finder_.CheckAllMatched(entries));
    return std::move(result_);
  }

 private:
  // Any rank will do.
  void AssignWhole(const LayoutEntry& entry) {
    const uint64_t rank = picker_.Pick(0, all_dims_);
    picker_.Add(rank, mesh::AddWhole(result_, entry, rank));
  }

  Result<void> AssignTensor(const LayoutEntry& entry, const PlacementRule& rule) {
    auto cuts = mesh::MakeTensorCuts(entry.shape, layout_.mesh, rule.placements);
    if (!cuts) return Fail(std::move(cuts).error().In(rule.origin).In("tensor " + Quote(entry.key)));
    if (IsEmpty({.offsets = {}, .sizes = entry.shape})) {
      AssignWhole(entry);
      return {};
    }
    auto owners = mesh::Owners::Make(entry.shape, *cuts, budget_);
    if (!owners) return Fail(std::move(owners).error().In("tensor " + Quote(entry.key)));
    owners->ForEach([&](const mesh::OwnedShard& shard) {
      // All boxes of a shard stay together: the rank that loads it reads one file.
      const uint64_t rank = picker_.Pick(shard.first_rank, cuts->replicas);
      uint64_t bytes = 0;
      mesh::ForEachBox(shard.runs, [&](DimsView offsets, DimsView sizes) {
        bytes += mesh::AddPiece(result_, entry, rank, {.offsets = offsets, .sizes = sizes});
      });
      picker_.Add(rank, bytes);
    });
    return {};
  }

  const MeshLayout& layout_;
  mesh::RuleFinder finder_;
  mesh::Budget budget_;
  mesh::RankPicker picker_;
  std::vector<size_t> all_dims_;
  RankLayout result_;
};

}  // namespace

Result<RankLayout> AssignRanks(std::span<const LayoutEntry> entries, const MeshLayout& layout,
                               const KeyMatcher& matches, const Limits& limits) {
  return Assigner(layout, matches, limits).Run(entries);
}

}  // namespace dcpctl
