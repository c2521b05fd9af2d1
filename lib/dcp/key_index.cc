#include "dcp/key_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text_hash.h"

namespace dcpctl::dcp {
namespace {

constexpr size_t kFewestSlots = 16;

constexpr size_t SlotsFor(size_t count) { return std::bit_ceil(std::max(kFewestSlots, count + count / 2)); }

}  // namespace

void KeyIndex::Reserve(size_t count) {
  if (SlotsFor(count) <= slots_.size()) return;
  const uint32_t old_mask = static_cast<uint32_t>(slots_.size()) - 1;
  const std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(SlotsFor(count), kFree));
  for (const uint32_t slot : old) {
    if (slot == kFree) continue;
    const uint32_t entry = slot & old_mask;
    const Place place = PlaceOf(catalog_.KeyOf(catalog_.entries[entry]));
    slots_[place.slot] = place.tag | entry;
  }
}

KeyIndex::Place KeyIndex::PlaceOf(std::string_view key) const {
  const auto mask = static_cast<uint32_t>(slots_.size() - 1);
  const uint64_t hash = TextHash()(key);
  const uint32_t tag = static_cast<uint32_t>(hash >> 32) & ~mask;
  size_t at = hash & mask;
  for (; slots_[at] != kFree; at = (at + 1) & mask) {
    if ((slots_[at] & ~mask) == tag && catalog_.KeyOf(catalog_.entries[slots_[at] & mask]) == key) break;
  }
  return {.slot = at, .tag = tag};
}

uint32_t KeyIndex::Find(std::string_view key) const {
  if (slots_.empty()) return kNoEntry;
  const size_t slot = PlaceOf(key).slot;
  return slots_[slot] == kFree ? kNoEntry : NumberAt(slot);
}

KeyIndex::Place KeyIndex::MakeRoomFor(std::string_view key) {
  if (SlotsFor(count_ + 1) > slots_.size()) Reserve(2 * (count_ + 1));
  return PlaceOf(key);
}

}  // namespace dcpctl::dcp
