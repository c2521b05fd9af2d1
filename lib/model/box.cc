#include "dcpctl/box.h"

#include <algorithm>

#include "base/checked.h"

namespace dcpctl {

std::optional<uint64_t> Numel(DimsView sizes) { return CheckedProduct(sizes); }

bool IsEmpty(BoxView box) {
  return std::any_of(box.sizes.begin(), box.sizes.end(), [](uint64_t size) { return size == 0; });
}

bool IsInside(BoxView box, DimsView shape) {
  if (box.offsets.size() != shape.size() || box.sizes.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!InRange(box.offsets[d], box.sizes[d], shape[d])) return false;
  }
  return true;
}

std::optional<Box> Intersect(BoxView a, BoxView b) {
  Box common{.offsets = Dims(a.offsets.size()), .sizes = Dims(a.offsets.size())};
  for (size_t d = 0; d < a.offsets.size(); ++d) {
    const uint64_t begin = std::max(a.offsets[d], b.offsets[d]);
    const uint64_t end = std::min(a.offsets[d] + a.sizes[d], b.offsets[d] + b.sizes[d]);
    if (begin >= end) return std::nullopt;
    common.offsets[d] = begin;
    common.sizes[d] = end - begin;
  }
  return common;
}

Dims RowMajorStrides(DimsView shape) {
  Dims strides(shape.size());
  uint64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<uint64_t>(shape[d], 1);
  }
  return strides;
}

bool IsRowMajor(DimsView sizes, DimsView strides) {
  uint64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0) return true;
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

Dims Unravel(DimsView shape, uint64_t number) {
  Dims index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = number % shape[d];
    number /= shape[d];
  }
  return index;
}

std::string ToString(DimsView dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(dims[d]);
  return text + "]";
}

std::string ToString(BoxView box) {
  std::string text = "[";
  for (size_t d = 0; d < box.offsets.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(box.offsets[d]) + ":" + std::to_string(box.offsets[d] + box.sizes[d]);
  }
  return text + "]";
}

}  // namespace dcpctl
