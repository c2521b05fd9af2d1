#include "engine/scratch.h"

namespace dcpctl::engine {

std::span<std::byte> Scratch::Use(uint64_t bytes) {
  kept_.clear();
  used_ = 0;
  return memory_.first(bytes);
}

std::span<std::byte> Scratch::Kept(uint32_t source, uint64_t begin, uint64_t bytes) const {
  for (const Stretch& stretch : kept_) {
    if (stretch.source != source || begin < stretch.begin || begin - stretch.begin > stretch.bytes.size()) continue;
    const uint64_t first = begin - stretch.begin;
    if (stretch.bytes.size() - first >= bytes) return stretch.bytes.subspan(first, bytes);
  }
  return {};
}

std::span<std::byte> Scratch::Keep(uint32_t source, uint64_t begin, uint64_t bytes) {
  if (memory_.size() - used_ < bytes) Forget();
  const auto room = memory_.subspan(used_, bytes);
  used_ += bytes;
  kept_.push_back({.source = source, .begin = begin, .bytes = room});
  return room;
}

}  // namespace dcpctl::engine
