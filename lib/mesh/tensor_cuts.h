// Placements as they apply to one shape: which mesh dimensions cut which dimension of the tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/error.h"
#include "dcpctl/mesh.h"
#include "mesh/split.h"

namespace dcpctl::mesh {

struct DimCuts {
  std::vector<Cut> cuts;
  std::vector<size_t> mesh_dims;  // of the cuts
};

struct TensorCuts {
  std::vector<DimCuts> dims;     // of the tensor
  std::vector<size_t> replicas;  // mesh dimensions of more than one rank that cut nothing
};

// kUsage, naming the placement, for a dimension that the shape lacks.
Result<TensorCuts> MakeTensorCuts(DimsView shape, const DeviceMesh& mesh, const Placements& placements);

}  // namespace dcpctl::mesh
