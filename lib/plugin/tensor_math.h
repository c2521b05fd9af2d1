// Arithmetic on the elements of tensors, which is LibTorch's affair: the function table of the plug-in of kind
// "tensor-math". Types are named as PyTorch names them ("bfloat16"). Elements lie one after the other, in the byte
// order of the machine and at any address. Functions may be called on many threads at once; each does its work on the
// thread that calls it.
#pragma once

#include <cstdint>

#include "plugin/abi.h"

namespace dcpctl::plugin {

inline constexpr char kTensorMathKind[] = "tensor-math";

// What a run of elements amounts to. Minimum and maximum of integers (bool: 0 and 1) are in `low` and `high` as the
// two's complement of 64 bits, those of floating-point types in `min` and `max`; without elements they say nothing.
// NaN counts in nothing but `nan`, `mean` and `squares`.
struct StatisticsV1 {
  uint64_t count = 0;
  uint64_t nan = 0;
  uint64_t inf = 0;        // of either sign
  uint64_t first_nan = 0;  // number of the first element that is NaN, if one is
  uint64_t first_inf = 0;  // and of the first that is infinite
  uint64_t low = 0;
  uint64_t high = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double squares = 0;  // of the distances from the mean, summed
};

// Functions that can fail return 0 when they did not.
struct TensorMathV1 {
  // Whether the functions below take the type: not all versions of the library have all.
  int (*has_type)(const char* type) = nullptr;
  // As `Tensor.to` does: to the nearest value, to the even one of two.
  int (*cast)(const char* from, const char* to, uint64_t count, const void* in, void* out,
              ErrorTextV1* error) = nullptr;
  // Of all real types.
  int (*statistics)(const char* type, uint64_t count, const void* in, StatisticsV1* out, ErrorTextV1* error) = nullptr;
};

}  // namespace dcpctl::plugin
