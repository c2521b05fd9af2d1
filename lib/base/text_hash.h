// Hash tables whose keys are text from an input. The hashes of the standard library are known, and text that all have
// the same is easily made: a table of it would take time with the square of its size. These have a secret.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace dcpctl {

struct HashSecret {
  uint64_t low;
  uint64_t high;
};

// SipHash-1-3, of which nobody finds collisions who does not know the secret. OpenSSL has it too, and takes a
// microsecond for a key.
[[nodiscard]] uint64_t SipHash(std::string_view text, HashSecret secret);

// With a secret of this process: whatever depends on the order in such a table is not the same in another run.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

// Looked up by any text. Views borrow.
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
template <typename Value>
using TextViewMap = std::unordered_map<std::string_view, Value, TextHash>;
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;
using TextViewSet = std::unordered_set<std::string_view, TextHash>;

}  // namespace dcpctl
