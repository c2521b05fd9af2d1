#include "engine/scratch.h"

namespace dcpctl::engine {

std::span<std::byte> Scratch::Use(uint64_t bytes) {
  kept_.clear();
  // The beginning again and again stays in the processor's cache.
  if (device_ == nullptr) used_ = 0;
  return Next(bytes);
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
  const auto room = Next(bytes);
  kept_.push_back({.source = source, .begin = begin, .bytes = room});
  return room;
}

void Scratch::Forget() {
  if (device_ != nullptr) device_->Idle();
  kept_.clear();
  used_ = 0;
}

std::span<std::byte> Scratch::Next(uint64_t bytes) {
  if (memory_.size() - used_ < bytes) Forget();
  used_ += bytes;
  return memory_.subspan(used_ - bytes, bytes);
}

}  // namespace dcpctl::engine
