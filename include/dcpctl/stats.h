// What the elements of a tensor amount to.
#pragma once

#include <cstdint>
#include <variant>

namespace dcpctl {

// An element, exactly: integers and bool as one of the first two, floating-point types as the last.
using Number = std::variant<int64_t, uint64_t, double>;

// As PyTorch computes them in float64. Of no elements `min` and `max` are NaN, and so is all but the counts when one
// element is NaN.
struct TensorStats {
  Number min = 0.0;
  Number max = 0.0;
  double mean = 0;
  double std = 0;  // of a sample: divided by one less than the number of elements
  uint64_t nan = 0;
  uint64_t inf = 0;  // of either sign
};

}  // namespace dcpctl
