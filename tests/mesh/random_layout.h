// Random tensors, meshes and placements that fit together, and the answer worked out the long way: element by
// element, with torch.chunk done on lists of indices.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/mesh.h"
#include "model/tiling.h"

namespace dcpctl::test {

struct RandomTensor {
  Dims shape;
  DeviceMesh mesh;
  Placements placements;
};

// Up to three mesh dimensions and `most_ranks` ranks; up to three dimensions of the tensor, some of size 0.
RandomTensor MakeRandomTensor(Random& random, uint64_t most_ranks);
Placements RandomPlacements(Random& random, const DeviceMesh& mesh, uint64_t tensor_dims);

// For each dimension of the shape, the indices that the rank has of it, in the order of its local tensor.
std::vector<std::vector<uint64_t>> IndicesTheLongWay(DimsView shape, const DeviceMesh& mesh,
                                                     const Placements& placements, uint64_t rank);

// Row-major numbers of the elements of a box, or of those that are in one of the indices of each dimension.
std::vector<uint64_t> ElementsOf(DimsView shape, const Box& box);
std::vector<uint64_t> ElementsOf(DimsView shape, const std::vector<std::vector<uint64_t>>& indices);

}  // namespace dcpctl::test
