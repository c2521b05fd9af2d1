// Loops over the elements of a tensor in memory, in types of the machine: LibTorch is not needed for these, and a pass
// of its own for each number would read everything many times.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "plugin/tensor_math.h"

namespace dcpctl::plugin {

// Sums are kept in this many lanes, so that they can be vectors.
constexpr size_t kLanes = 8;

template <typename T>
using Lanes = std::array<T, kLanes>;

inline double Total(const Lanes<double>& lanes) {
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

// Calls fn(lane, element) for each element.
template <typename T, typename Fn>
void ForEach(const T* data, size_t count, const Fn& fn) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) fn(lane, data[i + lane]);
  }
  for (size_t lane = 0; i + lane < count; ++lane) fn(lane, data[i + lane]);
}

template <typename T>
double SquaresOf(const T* data, size_t count, double mean) {
  Lanes<double> squares{};
  ForEach(data, count, [&](size_t lane, T value) {
    const double distance = static_cast<double>(value) - mean;
    squares[lane] += distance * distance;
  });
  return Total(squares);
}

template <typename T>
void CountUnusual(const T* data, size_t count, StatisticsV1& out) {
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(data[i])) continue;
    const bool is_nan = std::isnan(data[i]);
    uint64_t& found = is_nan ? out.nan : out.inf;
    if (found++ == 0) (is_nan ? out.first_nan : out.first_inf) = i;
  }
}

// Of at least one element.
template <typename T>
StatisticsV1 StatisticsOf(const T* data, size_t count) {
  using Limits = std::numeric_limits<T>;
  Lanes<T> least;
  Lanes<T> most;
  Lanes<double> sum{};
  least.fill(Limits::has_infinity ? Limits::infinity() : Limits::max());
  most.fill(Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::min());
  ForEach(data, count, [&](size_t lane, T value) {
    least[lane] = value < least[lane] ? value : least[lane];
    most[lane] = value > most[lane] ? value : most[lane];
    sum[lane] += static_cast<double>(value);
  });
  StatisticsV1 out;
  out.count = count;
  out.sum = Total(sum);
  out.squares = SquaresOf(data, count, out.sum / static_cast<double>(count));
  const T low = *std::min_element(least.begin(), least.end());
  const T high = *std::max_element(most.begin(), most.end());
  if constexpr (std::is_floating_point_v<T>) {
    out.min = low;
    out.max = high;
    // The sum is not finite when one element is not; looking at each is slow, and rarely needed.
    if (!std::isfinite(out.sum)) CountUnusual(data, count, out);
  } else {
    out.low = static_cast<uint64_t>(low);
    out.high = static_cast<uint64_t>(high);
  }
  return out;
}

}  // namespace dcpctl::plugin
