// Sizes of parts of a catalog for display. A claim of the metadata that does not fit 64 bits is shown as the
// largest number.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "dcpctl/catalog.h"

namespace dcpctl::report {

inline uint64_t BytesOf(const Tensor& tensor) {
  const std::optional<uint64_t> elements = Numel(tensor.shape);
  return elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)).value_or(UINT64_MAX) : UINT64_MAX;
}

}  // namespace dcpctl::report
