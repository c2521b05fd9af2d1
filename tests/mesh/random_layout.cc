#include "mesh/random_layout.h"

#include <numeric>
#include <string>
#include <utility>

#include "support/result.h"

namespace dcpctl::test {
namespace {

using Indices = std::vector<uint64_t>;

// What torch.chunk does, with empty chunks for those it leaves out.
std::vector<Indices> Chunk(const Indices& indices, uint64_t parts) {
  std::vector<Indices> chunks(parts);
  const uint64_t size = (indices.size() + parts - 1) / parts;
  for (uint64_t i = 0; i < indices.size(); ++i) chunks[i / size].push_back(indices[i]);
  return chunks;
}

// _StridedShard._split_tensor
std::vector<Indices> StridedChunk(const Indices& indices, uint64_t parts, uint64_t split_factor) {
  std::vector<Indices> chunks(parts);
  for (const Indices& piece : Chunk(indices, split_factor)) {
    const std::vector<Indices> finer = Chunk(piece, parts);
    for (uint64_t i = 0; i < parts; ++i) chunks[i].insert(chunks[i].end(), finer[i].begin(), finer[i].end());
  }
  return chunks;
}

uint64_t DimOf(const Placement& placement, size_t dims) {
  return static_cast<uint64_t>(placement.dim < 0 ? placement.dim + static_cast<int64_t>(dims) : placement.dim);
}

uint64_t SplitFactor(const RandomTensor& tensor, size_t m) {
  const Placement& placement = tensor.placements[m];
  if (placement.kind == Placement::Kind::kShard) return 1;
  if (placement.split_factor != Placement::kPartsOfLaterDims) return placement.split_factor;
  uint64_t factor = 1;
  for (size_t later = m + 1; later < tensor.placements.size(); ++later) {
    const Placement& other = tensor.placements[later];
    if (other.kind != Placement::Kind::kReplicate &&
        DimOf(other, tensor.shape.size()) == DimOf(placement, tensor.shape.size()))
      factor *= tensor.mesh.dims()[later].size;
  }
  return factor;
}

}  // namespace

Placements RandomPlacements(Random& random, const DeviceMesh& mesh, uint64_t tensor_dims) {
  Placements placements(mesh.dims().size());
  if (tensor_dims == 0) return placements;
  for (Placement& placement : placements) {
    placement.kind = static_cast<Placement::Kind>(Pick(random, 0, 2));
    if (placement.kind == Placement::Kind::kReplicate) continue;
    placement.dim = static_cast<int64_t>(Pick(random, 0, 2 * tensor_dims - 1)) - static_cast<int64_t>(tensor_dims);
    if (placement.kind == Placement::Kind::kStridedShard) placement.split_factor = Pick(random, 0, 5);
  }
  return placements;
}

RandomTensor MakeRandomTensor(Random& random, uint64_t most_ranks) {
  std::vector<MeshDim> dims;
  uint64_t left = most_ranks;
  for (uint64_t count = Pick(random, 1, 3); count > 0; --count) {
    dims.push_back({.name = "d" + std::to_string(count), .size = Pick(random, 1, std::min<uint64_t>(left, 7))});
    left /= dims.back().size;
  }
  RandomTensor tensor{.shape = {}, .mesh = Value(DeviceMesh::Make(std::move(dims))), .placements = {}};
  tensor.shape = RandomShape(random, 3, 13);
  for (uint64_t& size : tensor.shape) size = Pick(random, 0, 19) == 0 ? 0 : size;
  tensor.placements = RandomPlacements(random, tensor.mesh, tensor.shape.size());
  return tensor;
}

std::vector<std::vector<uint64_t>> IndicesTheLongWay(DimsView shape, const DeviceMesh& mesh,
                                                     const Placements& placements, uint64_t rank) {
  const RandomTensor tensor{.shape = {shape.begin(), shape.end()}, .mesh = mesh, .placements = placements};
  std::vector<Indices> indices;
  for (const uint64_t size : shape) {
    indices.emplace_back(size);
    std::iota(indices.back().begin(), indices.back().end(), uint64_t{0});
  }
  for (size_t m = 0; m < placements.size() && !shape.empty(); ++m) {
    if (placements[m].kind == Placement::Kind::kReplicate) continue;
    Indices& of_dim = indices[DimOf(placements[m], shape.size())];
    // Row-major: the coordinate is what is left after the dimensions to the right.
    uint64_t step = 1;
    for (size_t later = m + 1; later < placements.size(); ++later) step *= mesh.dims()[later].size;
    const uint64_t coordinate = rank / step % mesh.dims()[m].size;
    of_dim = StridedChunk(of_dim, mesh.dims()[m].size, SplitFactor(tensor, m))[coordinate];
  }
  return indices;
}

std::vector<uint64_t> ElementsOf(DimsView shape, const Box& box) {
  const Dims strides = RowMajorStrides(shape);
  std::vector<uint64_t> elements;
  ForEachPosition(box.sizes, [&](DimsView at) { elements.push_back(Dot(at, strides) + Dot(box.offsets, strides)); });
  return elements;
}

std::vector<uint64_t> ElementsOf(DimsView shape, const std::vector<std::vector<uint64_t>>& indices) {
  const Dims strides = RowMajorStrides(shape);
  Dims counts;
  for (const Indices& of_dim : indices) counts.push_back(of_dim.size());
  std::vector<uint64_t> elements;
  ForEachPosition(counts, [&](DimsView at) {
    uint64_t element = 0;
    for (size_t d = 0; d < at.size(); ++d) element += indices[d][at[d]] * strides[d];
    elements.push_back(element);
  });
  return elements;
}

}  // namespace dcpctl::test
