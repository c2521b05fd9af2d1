// What the pieces of a region are made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dcpctl/dtype.h"
#include "dcpctl/plan.h"

namespace dcpctl {

// Bytes of an item in the sources of a region; of what is not cast as many as in the region itself.
inline uint64_t SourceItemBytes(const Region& region) {
  return region.cast ? ItemBytes(region.cast->from) : region.item_bytes;
}

// What is cast is put together in its old type first, and neither may be larger than a tile.
inline uint64_t LargerItemBytes(const Region& region) {
  return std::max<uint64_t>(SourceItemBytes(region), region.item_bytes);
}

// Whether one of the sources of a region is not in its order: transposed, for one.
inline bool HasStridedSource(const Plan& plan, const Region& region) {
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    const DimsView strides = plan.StridesOf(region, plan.sources[piece.source]);
    for (size_t d = 1; d < strides.size(); ++d) {
      if (strides[d] > strides[d - 1]) return true;
    }
  }
  return false;
}

}  // namespace dcpctl
