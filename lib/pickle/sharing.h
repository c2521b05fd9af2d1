// Which nodes of a graph are referred to more than once: those are what a writer puts in the memo. Only
// finds them; the memo itself is the writer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pickle/arena.h"

namespace dcpctl::pickle {

// A set of Refs as a bitmap: one bit for each word of the arena, far less than the nodes take.
class RefSet {
 public:
  explicit RefSet(size_t words) : bits_(words / 64 + 1) {}
  // False when it was there before.
  bool Insert(Ref ref) {
    const uint64_t bit = uint64_t{1} << (ref % 64);
    const bool is_new = (bits_[ref / 64] & bit) == 0;
    bits_[ref / 64] |= bit;
    return is_new;
  }
  void Remove(Ref ref) { bits_[ref / 64] &= ~(uint64_t{1} << (ref % 64)); }
  [[nodiscard]] bool Contains(Ref ref) const { return (bits_[ref / 64] >> (ref % 64) & 1) != 0; }

 private:
  friend class RefIndex;
  std::vector<uint64_t> bits_;
};

// A number for each member of a set, none of it hashed: 0, 1, ... in the order of Refs.
class RefIndex {
 public:
  explicit RefIndex(RefSet set);
  [[nodiscard]] bool Contains(Ref ref) const { return set_.Contains(ref); }
  [[nodiscard]] uint32_t operator[](Ref ref) const;  // of a member
  [[nodiscard]] uint32_t size() const { return size_; }

 private:
  RefSet set_;
  std::vector<uint32_t> before_;  // members in earlier words of the bitmap
  uint32_t size_ = 0;
};

// Things that protocol 2 has no opcode for and that are written as calls of these.
enum class Helper : uint8_t { kEncode, kLatin1, kByteArray, kSet, kFrozenSet, kGetAttr, kNewObjEx };
inline constexpr size_t kHelperCount = 7;

struct Sharing {
  RefIndex shared;
  // Something that is made after what it holds, like a tuple, holds itself. It will be begun again inside of
  // itself, and whatever is on the way there must then be in the memo; as in CPython, everything is.
  bool is_recursive = false;
  std::array<uint32_t, kHelperCount> helper_uses{};
};

Sharing FindSharing(const Document::Arena& arena, Ref root, int protocol);

}  // namespace dcpctl::pickle
