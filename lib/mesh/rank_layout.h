// Putting a RankLayout together.
#pragma once

#include <cstdint>
#include <span>

#include "dcpctl/error.h"
#include "dcpctl/mesh.h"

namespace dcpctl::mesh {

// kLimit when the bytes of all entries together do not fit 64 bits: after it, no sum of some of them can overflow.
Result<void> CheckTotalBytes(std::span<const LayoutEntry> entries);

// Appends a piece, and counts it for its rank. Returns its bytes.
uint64_t AddPiece(RankLayout& layout, const LayoutEntry& entry, uint64_t rank, BoxView box);
// All of an entry. For an object, and for a tensor that is not cut.
uint64_t AddWhole(RankLayout& layout, const LayoutEntry& entry, uint64_t rank);

}  // namespace dcpctl::mesh
