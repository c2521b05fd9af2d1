// The entries of a catalog by key: four to eight bytes for each, for the keys are in the catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"

namespace dcpctl::dcp {

inline constexpr uint32_t kNoEntry = UINT32_MAX;

class KeyIndex {
 public:
  // `catalog` outlives the index.
  explicit KeyIndex(const Catalog& catalog) : catalog_(catalog) {}

  // Makes room for so many entries.
  void Reserve(size_t count);
  // The entry that has the key, or kNoEntry.
  [[nodiscard]] uint32_t Find(std::string_view key) const;
  // Likewise; where none has it, `add()` puts one into the catalog.
  template <typename Fn>
  uint32_t FindOrAdd(std::string_view key, const Fn& add) {
    const Place place = MakeRoomFor(key);
    if (slots_[place.slot] != kFree) return NumberAt(place.slot);
    const auto entry = static_cast<uint32_t>(catalog_.entries.size());
    add();
    slots_[place.slot] = place.tag | entry;
    ++count_;
    return entry;
  }

 private:
  // Where the key is, or where it would be put; what it is called there but for the number of its entry.
  struct Place {
    size_t slot;
    uint32_t tag;
  };
  [[nodiscard]] Place PlaceOf(std::string_view key) const;
  // The same when there is a free slot too many, which there is afterwards.
  Place MakeRoomFor(std::string_view key);
  [[nodiscard]] uint32_t NumberAt(size_t slot) const { return slots_[slot] & static_cast<uint32_t>(slots_.size() - 1); }

  static constexpr uint32_t kFree =
      UINT32_MAX;  // no number of an entry has all low bits set: one slot at least is free

  const Catalog& catalog_;
  // A power of two of them, at most two thirds taken; a key is at its hash, or in a slot after it. The low bits of a
  // slot are the number of the entry, the others those of its hash: most other keys are told apart without a look at
  // them.
  std::vector<uint32_t> slots_;
  size_t count_ = 0;
};

}  // namespace dcpctl::dcp
