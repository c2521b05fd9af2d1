// Spreading what any rank of a group may write: always to the one with the fewest bytes so far.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dcpctl/mesh.h"

namespace dcpctl::mesh {

// `mesh` must outlive it.
class RankPicker {
 public:
  explicit RankPicker(const DeviceMesh& mesh) : mesh_(mesh), bytes_(mesh.world_size(), 0) {}

  void Add(uint64_t rank, uint64_t bytes) { bytes_[rank] += bytes; }
  // Of `first_rank` and those that differ from it only in coordinates of `free` mesh dimensions (where it has
  // coordinate 0): the one with the fewest bytes, the lowest of equal ones. Logarithmic, averaged over all calls.
  uint64_t Pick(uint64_t first_rank, const std::vector<size_t>& free);

 private:
  // Least first. Bytes only grow, so an entry that is out of date is too far in front and is put right when it gets
  // there: one repair at most for each Add, in each queue that the rank is in.
  using Queue = std::vector<std::pair<uint64_t, uint64_t>>;  // bytes, rank

  Queue MakeQueue(uint64_t first_rank, const std::vector<size_t>& free) const;

  const DeviceMesh& mesh_;
  std::vector<uint64_t> bytes_;
  // By free dimensions and first rank; never iterated, so no order of hashes shows.
  std::map<std::vector<size_t>, std::unordered_map<uint64_t, Queue>> queues_;
};

}  // namespace dcpctl::mesh
