// The elements of a tensor as numbers, for who has to say by how much two tensors differ. Needs no tensor library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "dcpctl/compare.h"
#include "dcpctl/dtype.h"

namespace dcpctl {

// |a - b|: exact for integers and booleans; the modulus for complex numbers.
using Distance = std::variant<uint64_t, double>;

struct ElementsDifference {
  uint64_t first = 0;  // number of the first element that differs
  uint64_t count = 0;  // of elements that differ
  // The largest of those that there are: NaN, infinities and types that stand for no single number have none.
  std::optional<Distance> largest = std::nullopt;
  uint64_t without_distance = 0;  // of `count`
  uint64_t close = 0;             // with other bits, and within the tolerance: these do not differ

  // Of elements that come after those of this. Associative, so that parts may be joined in any order.
  void Add(const ElementsDifference& other);
};

// Compares two rows of the same number of little-endian elements, bit by bit where there is no tolerance. Nothing when
// all bits are the same.
[[nodiscard]] std::optional<ElementsDifference> CompareElements(
    DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
    const std::optional<Tolerance>& tolerance = std::nullopt);

// The element as a number; nothing for complex, quantized, packed and bit types.
[[nodiscard]] std::optional<double> ElementValue(DType dtype, std::span<const std::byte> element);

}  // namespace dcpctl
