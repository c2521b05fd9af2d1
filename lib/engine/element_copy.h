// Moving elements in memory: between strides, and between byte orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/copy_loop.h"

namespace dcpctl::engine {

// The levels of `loop` from `level` on.
CopyLoop Inner(const CopyLoop& loop, size_t level);

// Walks the levels from `level` on; `from` and `to` are where its first element is and goes. Items have
// `item_bytes` each.
void CopyElements(const CopyLoop& loop, size_t level, const std::byte* from, std::byte* to, uint64_t item_bytes);

// Reverses each group of `unit` bytes.
void SwapBytes(std::span<std::byte> bytes, uint64_t unit);

}  // namespace dcpctl::engine
