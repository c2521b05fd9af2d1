// Floating-point numbers of few bits, in the form that IEEE 754 gives all of its types.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace dcpctl {

struct SmallFloatFormat {
  int exponent_bits;
  int fraction_bits;
  int bias;
};

inline constexpr int kDoubleBias = 1023;
inline constexpr int kDoubleFraction = 52;

// The number that `bits` stand for when no pattern has a special meaning. Exact: a double has room for all of them.
inline double SmallFloatValue(uint64_t bits, const SmallFloatFormat& format) {
  const uint64_t fraction = bits & ((uint64_t{1} << format.fraction_bits) - 1);
  const auto exponent = static_cast<int>(bits >> format.fraction_bits & ((uint64_t{1} << format.exponent_bits) - 1));
  const bool negative = (bits >> (format.exponent_bits + format.fraction_bits) & 1) != 0;
  const uint64_t digits = exponent == 0 ? fraction : fraction + (uint64_t{1} << format.fraction_bits);
  const int power = (exponent == 0 ? 1 : exponent) - format.bias - format.fraction_bits;
  // As std::ldexp, in a fraction of its time: 2 to this power is a normal double.
  const double magnitude = static_cast<double>(digits) *
                           std::bit_cast<double>(static_cast<uint64_t>(kDoubleBias + power) << kDoubleFraction);
  return negative ? -magnitude : magnitude;
}

// The same, with the largest exponent for infinities and what is no number.
inline double IeeeSmallFloatValue(uint64_t bits, const SmallFloatFormat& format) {
  const uint64_t fraction = bits & ((uint64_t{1} << format.fraction_bits) - 1);
  const uint64_t top = (uint64_t{1} << format.exponent_bits) - 1;
  if ((bits >> format.fraction_bits & top) != top) return SmallFloatValue(bits, format);
  if (fraction != 0) return std::nan("");
  return (bits >> (format.exponent_bits + format.fraction_bits) & 1) != 0 ? -HUGE_VAL : HUGE_VAL;
}

inline constexpr SmallFloatFormat kHalfFormat = {.exponent_bits = 5, .fraction_bits = 10, .bias = 15};

}  // namespace dcpctl
