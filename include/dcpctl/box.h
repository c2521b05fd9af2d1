// Axis-aligned boxes in index space: which part of a tensor a chunk holds. Counts are elements. Boxes with
// no dimensions are the one element of a 0-d tensor; a box with a zero size holds nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dcpctl {

using Dims = std::vector<uint64_t>;
using DimsView = std::span<const uint64_t>;

// Borrowed: offsets and sizes have the same length and must outlive the view.
struct BoxView {
  DimsView offsets;
  DimsView sizes;
};

struct Box {
  Dims offsets;
  Dims sizes;
  [[nodiscard]] BoxView view() const { return {offsets, sizes}; }
};

// Number of elements; nothing when it does not fit 64 bits.
[[nodiscard]] std::optional<uint64_t> Numel(DimsView sizes);
[[nodiscard]] bool IsEmpty(BoxView box);
// Whether `box` lies in [0, shape).
[[nodiscard]] bool IsInside(BoxView box, DimsView shape);
// The common part; nothing when it has no element.
[[nodiscard]] std::optional<Box> Intersect(BoxView a, BoxView b);
// Elements between neighbours of each dimension in row-major order.
[[nodiscard]] Dims RowMajorStrides(DimsView shape);
// Whether elements of `sizes` at `strides` lie one after the other in row-major order.
[[nodiscard]] bool IsRowMajor(DimsView sizes, DimsView strides);
// The index of element number `number` in row-major order, of a shape that has it.
[[nodiscard]] Dims Unravel(DimsView shape, uint64_t number);

// "[4, 5]"
[[nodiscard]] std::string ToString(DimsView dims);
// "[0:4, 2:5]"
[[nodiscard]] std::string ToString(BoxView box);

}  // namespace dcpctl
