// The shards of a tensor that are not empty, and the ranks that hold each.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/error.h"
#include "mesh/grid.h"
#include "mesh/split.h"
#include "mesh/tensor_cuts.h"

namespace dcpctl::mesh {

struct OwnedShard {
  // With coordinate 0 in the mesh dimensions that replicate: all ranks that hold it differ in nothing but those.
  uint64_t first_rank = 0;
  std::vector<const Runs*> runs;  // for each dimension of the tensor
};

// Takes time and room for the shards there are, not for the ranks.
class Owners {
 public:
  static Result<Owners> Make(DimsView shape, const TensorCuts& cuts, Budget& budget);

  // Calls `visit(const OwnedShard&)` for each, in the order of the first indices of their parts, the last dimension
  // fastest. Every element is in exactly one.
  template <typename Visit>
  void ForEach(Visit visit) const {
    Dims counts;
    for (const auto& of_dim : parts_) counts.push_back(of_dim.size());
    OwnedShard shard{.first_rank = 0, .runs = std::vector<const Runs*>(parts_.size())};
    ForEachIndex(counts, [&](DimsView index) {
      shard.first_rank = 0;
      for (size_t d = 0; d < parts_.size(); ++d) {
        const Part& part = parts_[d][index[d]];
        shard.first_rank += part.rank;
        shard.runs[d] = &part.runs;
      }
      visit(shard);
    });
  }

 private:
  std::vector<std::vector<Part>> parts_;  // by dimension of the tensor
};

}  // namespace dcpctl::mesh
