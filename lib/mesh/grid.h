// Boxes from runs of each dimension.
#pragma once

#include <cstdint>
#include <span>

#include "dcpctl/box.h"
#include "mesh/split.h"

namespace dcpctl::mesh {

// Calls `visit(index)` for each index in the grid of `counts`, the last dimension fastest: once for no dimensions,
// never if one is 0.
template <typename Visit>
void ForEachIndex(DimsView counts, Visit visit) {
  for (const uint64_t count : counts) {
    if (count == 0) return;
  }
  Dims index(counts.size(), 0);
  for (;;) {
    visit(DimsView(index));
    size_t d = counts.size();
    while (d > 0 && ++index[d - 1] == counts[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// Calls `visit(offsets, sizes)` for each box of a shard with these runs in each dimension, in the order of its
// local tensor.
template <typename Visit>
void ForEachBox(std::span<const Runs* const> runs, Visit visit) {
  Dims counts;
  for (const Runs* of_dim : runs) counts.push_back(of_dim->size());
  Dims offsets(runs.size());
  Dims sizes(runs.size());
  ForEachIndex(counts, [&](DimsView index) {
    for (size_t d = 0; d < runs.size(); ++d) {
      offsets[d] = (*runs[d])[index[d]].begin;
      sizes[d] = (*runs[d])[index[d]].size;
    }
    visit(DimsView(offsets), DimsView(sizes));
  });
}

}  // namespace dcpctl::mesh
