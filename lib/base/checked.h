// Arithmetic on numbers that come from a file: the answer, or nothing when it does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace dcpctl {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// For sums that are only shown: stays at the largest number once it or `count` does not fit.
inline void AddSaturating(uint64_t& sum, std::optional<uint64_t> count) {
  sum = count ? CheckedAdd(sum, *count).value_or(UINT64_MAX) : UINT64_MAX;
}

// Product of all factors. Zero when any factor is zero, even if the others would overflow.
inline std::optional<uint64_t> CheckedProduct(std::span<const uint64_t> factors) {
  for (const uint64_t factor : factors) {
    if (factor == 0) return 0;
  }
  std::optional<uint64_t> product = 1;
  for (const uint64_t factor : factors) {
    product = CheckedMul(*product, factor);
    if (!product) return std::nullopt;
  }
  return product;
}

// Whether [offset, offset + length) lies in [0, size).
inline bool InRange(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

inline uint64_t AlignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace dcpctl
