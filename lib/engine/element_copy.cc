#include "engine/element_copy.h"

#include <algorithm>
#include <cstring>

namespace dcpctl::engine {
namespace {

// A fixed size lets the compiler make each memcpy one move.
template <size_t kBytes>
void CopyLevel(const CopyLoop::Level& level, const std::byte* from, std::byte* to) {
  for (uint64_t i = 0; i < level.count; ++i) {
    std::memcpy(to + i * level.to_step * kBytes, from + i * level.from_step * kBytes, kBytes);
  }
}

void CopyFastest(const CopyLoop::Level& level, const std::byte* from, std::byte* to, uint64_t item_bytes) {
  if (level.from_step == 1 && level.to_step == 1) {
    std::memcpy(to, from, level.count * item_bytes);
    return;
  }
  switch (item_bytes) {
    case 1: return CopyLevel<1>(level, from, to);
    case 2: return CopyLevel<2>(level, from, to);
    case 4: return CopyLevel<4>(level, from, to);
    case 8: return CopyLevel<8>(level, from, to);
    default: break;
  }
  for (uint64_t i = 0; i < level.count; ++i) {
    std::memcpy(to + i * level.to_step * item_bytes, from + i * level.from_step * item_bytes, item_bytes);
  }
}

}  // namespace

CopyLoop Inner(const CopyLoop& loop, size_t level) {
  CopyLoop inner{.from = loop.from, .to = loop.to, .levels = {}};
  inner.levels.assign(loop.levels.begin() + static_cast<std::ptrdiff_t>(level), loop.levels.end());
  return inner;
}

void CopyElements(const CopyLoop& loop, size_t level, const std::byte* from, std::byte* to, uint64_t item_bytes) {
  if (level == loop.levels.size()) {
    std::memcpy(to, from, item_bytes);
    return;
  }
  const CopyLoop::Level& here = loop.levels[level];
  if (level + 1 == loop.levels.size()) return CopyFastest(here, from, to, item_bytes);
  for (uint64_t i = 0; i < here.count; ++i) {
    CopyElements(loop, level + 1, from + i * here.from_step * item_bytes, to + i * here.to_step * item_bytes,
                 item_bytes);
  }
}

void SwapBytes(std::span<std::byte> bytes, uint64_t unit) {
  for (uint64_t i = 0; i + unit <= bytes.size(); i += unit)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + unit));
}

}  // namespace dcpctl::engine
