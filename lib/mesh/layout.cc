#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/mesh.h"

namespace dcpctl {
namespace {

constexpr Placement kShardFirst = {.kind = Placement::Kind::kShard, .dim = 0};

bool IsForReplicas(const MeshDim& dim) { return dim.name.find("replicate") != std::string::npos; }

}  // namespace

PlacementRule DefaultRule(const DeviceMesh& mesh) {
  PlacementRule rule{.pattern = {}, .placements = Placements(mesh.dims().size()), .origin = "the default placement"};
  if (rule.placements.empty()) return rule;
  const auto& dims = mesh.dims();
  const auto found = std::find_if_not(dims.begin(), dims.end(), IsForReplicas);
  rule.placements[found == dims.end() ? 0 : static_cast<size_t>(found - dims.begin())] = kShardFirst;
  return rule;
}

Result<MeshLayout> MakeFsdpLayout(uint64_t world_size, const Limits& limits) {
  auto mesh = DeviceMesh::Make({{.name = "fsdp", .size = world_size}}, limits);
  if (!mesh)
    return Fail(ErrorKind::kUsage, "world size " + std::to_string(world_size) + ", expected 1 to " +
                                       std::to_string(limits.ranks) + " ranks");
  PlacementRule fallback = DefaultRule(*mesh);
  return MeshLayout{.mesh = *std::move(mesh), .rules = {}, .fallback = std::move(fallback)};
}

Result<PlacementRule> ParsePlacementRule(std::string_view text, const DeviceMesh& mesh) {
  const std::string origin = "--placement " + Quote(text);
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0)
    return Fail(Error(ErrorKind::kUsage, origin + " has no pattern, expected GLOB=PLACEMENTS")
                    .Advise("a rule is written like 'model.*=dp:shard(0),tp:shard(1)'"));
  auto placements = ParsePlacements(text.substr(equals + 1), mesh);
  if (!placements) return Fail(std::move(placements).error().In(origin));
  return PlacementRule{
      .pattern = std::string(text.substr(0, equals)), .placements = *std::move(placements), .origin = origin};
}

Result<MeshLayout> ParseMeshLayout(std::string_view mesh, std::span<const std::string> rules, const Limits& limits) {
  MeshLayout layout;
  DCPCTL_ASSIGN(layout.mesh, ParseMesh(mesh, limits));
  for (const std::string& text : rules) {
    DCPCTL_ASSIGN(PlacementRule rule, ParsePlacementRule(text, layout.mesh));
    layout.rules.push_back(std::move(rule));
  }
  layout.fallback = DefaultRule(layout.mesh);
  return layout;
}

std::vector<LayoutEntry> ListLayoutEntries(const Catalog& catalog, const std::vector<bool>& selected) {
  std::vector<LayoutEntry> entries;
  for (uint32_t e = 0; e < catalog.entries.size(); ++e) {
    if (!selected[e]) continue;
    const EntryRef ref = catalog.entries[e];
    LayoutEntry entry{.key = std::string(catalog.KeyOf(ref)), .entry = e, .is_tensor = ref.is_tensor};
    if (ref.is_tensor) {
      entry.shape = catalog.tensors[ref.index].shape;
      entry.bytes = ItemBytes(catalog.tensors[ref.index].dtype);
    } else {
      entry.bytes = catalog.objects[ref.index].length;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace dcpctl
