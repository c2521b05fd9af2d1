#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/mesh.h"
#include "mesh/text.h"

namespace dcpctl {
namespace {

bool IsName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

// A piece keeps its rank in 32 bits.
uint64_t MostRanks(const Limits& limits) {
  return std::min<uint64_t>(limits.ranks, std::numeric_limits<uint32_t>::max());
}

Result<void> CheckDims(const std::vector<MeshDim>& dims) {
  if (dims.empty() || dims.size() > DeviceMesh::kMaxDims)
    return Fail(ErrorKind::kUsage, "a mesh of " + std::to_string(dims.size()) + " dimensions, expected 1 to " +
                                       std::to_string(DeviceMesh::kMaxDims));
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::string& name = dims[d].name;
    if (!IsName(name))
      return Fail(ErrorKind::kUsage,
                  "mesh dimension " + Quote(name) + ", expected a name of letters, digits, '_', '-' and '.'");
    const auto is_same = [&](const MeshDim& other) { return other.name == name; };
    if (std::any_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(d), is_same))
      return Fail(ErrorKind::kUsage, "mesh dimension " + Quote(name) + " is there twice, expected different names");
  }
  return {};
}

std::string DescribeDims(const std::vector<MeshDim>& dims) {
  std::string text;
  for (const MeshDim& dim : dims) text += (text.empty() ? "" : ",") + dim.name + "=" + std::to_string(dim.size);
  return text;
}

}  // namespace

Result<DeviceMesh> DeviceMesh::Make(std::vector<MeshDim> dims, const Limits& limits) {
  DCPCTL_TRY(CheckDims(dims));
  const uint64_t most = MostRanks(limits);
  std::optional<uint64_t> ranks = 1;
  for (const MeshDim& dim : dims) {
    if (dim.size == 0 || dim.size > most)
      return Fail(ErrorKind::kUsage, "mesh dimension " + Quote(dim.name) + " has size " + std::to_string(dim.size) +
                                         ", expected 1 to " + std::to_string(most));
    ranks = ranks ? CheckedMul(*ranks, dim.size) : ranks;
  }
  if (!ranks || *ranks > most)
    return Fail(ErrorKind::kUsage, "mesh " + DescribeDims(dims) + " has " +
                                       (ranks ? std::to_string(*ranks) : "more than 2^64") + " ranks, expected 1 to " +
                                       std::to_string(most));
  DeviceMesh mesh;
  mesh.world_size_ = *ranks;
  for (const MeshDim& dim : dims) mesh.steps_.push_back(*ranks /= dim.size);
  mesh.dims_ = std::move(dims);
  return mesh;
}

Result<DeviceMesh> ParseMesh(std::string_view text, const Limits& limits) {
  std::vector<MeshDim> dims;
  for (const std::string_view part : mesh::SplitAtCommas(text)) {
    const size_t equals = part.find('=');
    const std::string_view name = mesh::Trim(part.substr(0, equals));
    const std::string_view number = equals == part.npos ? "" : mesh::Trim(part.substr(equals + 1));
    const std::optional<uint64_t> size = mesh::ParseNumber<uint64_t>(number);
    if (!size)
      return Fail(Error(ErrorKind::kUsage, "mesh " + Quote(text) + " has " + Quote(part) +
                                               ", expected NAME=SIZE with 1 to " + std::to_string(MostRanks(limits)) +
                                               " ranks in all")
                      .Advise("a mesh is written like dp=8,tp=4"));
    dims.push_back({.name = std::string(name), .size = *size});
  }
  return DeviceMesh::Make(std::move(dims), limits);
}

std::string ToString(const DeviceMesh& mesh) { return DescribeDims(mesh.dims()); }

}  // namespace dcpctl
