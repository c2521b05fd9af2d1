#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/mesh.h"
#include "mesh/text.h"

namespace dcpctl {
namespace {

// `name(a,b)`, or a name alone.
struct Call {
  std::string name;
  std::vector<std::string_view> arguments;
};

std::optional<Call> ParseCall(std::string_view text) {
  const size_t open = text.find('(');
  Call call{.name = std::string(mesh::Trim(text.substr(0, open))), .arguments = {}};
  // As PyTorch spells them: Shard(0), Replicate().
  for (char& c : call.name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (open == text.npos) return call;
  if (!text.ends_with(')')) return std::nullopt;
  const std::string_view inside = mesh::Trim(text.substr(open + 1, text.size() - open - 2));
  if (!inside.empty()) call.arguments = mesh::SplitAtCommas(inside);
  return call;
}

std::optional<Placement> ParsePlacement(std::string_view text) {
  const std::optional<Call> call = ParseCall(text);
  if (!call) return std::nullopt;
  const size_t count = call->arguments.size();
  if (call->name == "replicate") return count == 0 ? std::optional(Placement{}) : std::nullopt;
  const bool strided = call->name == "strided_shard";
  if ((!strided && call->name != "shard") || count < 1 || count > (strided ? 2 : 1)) return std::nullopt;
  const auto dim = mesh::ParseNumber<int64_t>(call->arguments[0]);
  if (!dim) return std::nullopt;
  if (!strided) return Placement{.kind = Placement::Kind::kShard, .dim = *dim};
  Placement placement{.kind = Placement::Kind::kStridedShard, .dim = *dim};
  if (count == 1) return placement;
  const auto factor = mesh::ParseNumber<uint64_t>(call->arguments[1]);
  if (!factor || *factor == 0) return std::nullopt;
  placement.split_factor = *factor;
  return placement;
}

std::vector<std::string> NamesOf(const DeviceMesh& mesh) {
  std::vector<std::string> names;
  for (const MeshDim& dim : mesh.dims()) names.push_back(dim.name);
  return names;
}

std::string Join(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : std::string(between)) + name;
  return text;
}

Error NoSuchDim(std::string_view name, const DeviceMesh& mesh) {
  const std::vector<std::string> names = NamesOf(mesh);
  Error error(ErrorKind::kUsage, "no mesh dimension is called " + Quote(name) + ", expected " + Join(names, " or "));
  const std::vector<std::string> near = NearestNames(name, names);
  return near.empty() ? error : std::move(error).Advise("did you mean " + Join(near, ", ") + "?");
}

Error NotAPlacement(std::string_view text) {
  return {ErrorKind::kUsage, "placement " + Quote(text) +
                                 ", expected shard(DIM), strided_shard(DIM), strided_shard(DIM,FACTOR) or replicate"};
}

// The dimension that `part` is about, taken off its front.
Result<size_t> TakeDim(std::string_view& part, const DeviceMesh& mesh) {
  const size_t colon = part.find(':');
  if (colon == part.npos) {
    if (mesh.dims().size() == 1) return 0;
    return Fail(Error(ErrorKind::kUsage, Quote(part) + " names no mesh dimension, expected NAME:PLACEMENT")
                    .Advise("placements are written like dp:shard(0),tp:replicate"));
  }
  const std::string_view name = mesh::Trim(part.substr(0, colon));
  part = mesh::Trim(part.substr(colon + 1));
  const auto& dims = mesh.dims();
  const auto found = std::find_if(dims.begin(), dims.end(), [&](const MeshDim& dim) { return dim.name == name; });
  if (found == dims.end()) return Fail(NoSuchDim(name, mesh));
  return static_cast<size_t>(found - dims.begin());
}

}  // namespace

Result<Placements> ParsePlacements(std::string_view text, const DeviceMesh& mesh) {
  Placements placements(mesh.dims().size());
  if (ParsePlacement(mesh::Trim(text)) == Placement{}) return placements;
  std::vector<bool> given(placements.size(), false);
  for (std::string_view part : mesh::SplitAtCommas(text)) {
    DCPCTL_ASSIGN(const size_t dim, TakeDim(part, mesh));
    const std::optional<Placement> placement = ParsePlacement(part);
    if (!placement) return Fail(NotAPlacement(part));
    if (given[dim])
      return Fail(ErrorKind::kUsage, "mesh dimension " + Quote(mesh.dims()[dim].name) + " is placed twice in " +
                                         Quote(text) + ", expected once");
    given[dim] = true;
    placements[dim] = *placement;
  }
  return placements;
}

std::string ToString(const Placement& placement) {
  const std::string dim = std::to_string(placement.dim);
  switch (placement.kind) {
    case Placement::Kind::kReplicate: return "replicate";
    case Placement::Kind::kShard: return "shard(" + dim + ")";
    case Placement::Kind::kStridedShard: break;
  }
  if (placement.split_factor == Placement::kPartsOfLaterDims) return "strided_shard(" + dim + ")";
  return "strided_shard(" + dim + "," + std::to_string(placement.split_factor) + ")";
}

std::string ToString(const Placements& placements, const DeviceMesh& mesh) {
  std::string text;
  for (size_t d = 0; d < placements.size(); ++d)
    text += (text.empty() ? "" : ",") + mesh.dims()[d].name + ":" + ToString(placements[d]);
  return text;
}

}  // namespace dcpctl
