// Cutting one dimension of a tensor over mesh dimensions: which runs of indices each coordinate gets. Dimensions are
// cut independently of each other, since a mesh dimension cuts one at most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dcpctl/error.h"

namespace dcpctl::mesh {

// Indices [begin, begin + size), not empty.
struct Run {
  uint64_t begin = 0;
  uint64_t size = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

// In the order of the local tensor, which is that of the indices; no two touch.
using Runs = std::vector<Run>;

// One mesh dimension that cuts the tensor dimension. Left to itself (split_factor 1) it gives coordinate c the c-th
// part of torch.chunk(parts); else torch.chunk(split_factor) comes first and c gets the c-th part of each of those.
struct Cut {
  uint64_t parts = 1;         // size of the mesh dimension
  uint64_t split_factor = 1;  // not 0
  uint64_t rank_step = 1;     // DeviceMesh::RankStep
};

// Work that is left: each run that is made takes one. What a layout file asks for is not bounded by anything else.
class Budget {
 public:
  explicit Budget(uint64_t most) : most_(most), left_(most) {}
  // kLimit when there is less than that.
  Result<void> Spend(uint64_t boxes);

 private:
  uint64_t most_;
  uint64_t left_;
};

// What is left of [0, size) for the rank with these coordinates, one for each cut. Spends its own budget.
Result<Runs> RunsOf(uint64_t size, std::span<const Cut> cuts, std::span<const uint64_t> coordinates, Budget budget);

// What one combination of coordinates has.
struct Part {
  uint64_t rank = 0;  // the sum of coordinate * rank_step
  Runs runs;
};

// All parts that are not empty, sorted by their first index. Together they hold each index of [0, size) once.
Result<std::vector<Part>> PartsOf(uint64_t size, std::span<const Cut> cuts, Budget& budget);

}  // namespace dcpctl::mesh
