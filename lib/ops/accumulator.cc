#include "ops/accumulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dcpctl::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsSigned(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kInt16 || dtype == DType::kInt8;
}

}  // namespace

void Accumulator::Add(const plugin::StatisticsV1& next, uint64_t first) {
  if (next.count == 0) return;
  if (all_.count == 0) {
    all_ = next;
    all_.first_nan += first;
    all_.first_inf += first;
    return;
  }
  if (all_.nan == 0) all_.first_nan = first + next.first_nan;
  if (all_.inf == 0) all_.first_inf = first + next.first_inf;
  // Chan, Golub and LeVeque: squares of distances from two means become those from the common one.
  const auto ours = static_cast<double>(all_.count);
  const auto theirs = static_cast<double>(next.count);
  const double apart = next.sum / theirs - Sum() / ours;
  all_.squares += next.squares + apart * apart * (ours * theirs / (ours + theirs));
  AddToSum(next.sum);
  all_.count += next.count;
  all_.nan += next.nan;
  all_.inf += next.inf;
  all_.min = std::min(all_.min, next.min);
  all_.max = std::max(all_.max, next.max);
  all_.low = Less(next.low, all_.low) ? next.low : all_.low;
  all_.high = Less(all_.high, next.high) ? next.high : all_.high;
}

void Accumulator::Add(const Accumulator& next) {
  plugin::StatisticsV1 summed = next.all_;
  summed.sum = next.Sum();
  Add(summed, 0);
}

TensorStats Accumulator::Stats() const {
  const auto count = static_cast<double>(all_.count);
  return {.min = Extreme(all_.low, all_.min),
          .max = Extreme(all_.high, all_.max),
          .mean = Sum() / count,
          .std = all_.count < 2 ? kNaN : std::sqrt(all_.squares / (count - 1)),
          .nan = all_.nan,
          .inf = all_.inf};
}

bool Accumulator::Less(uint64_t a, uint64_t b) const {
  return IsSigned(dtype_) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
}

// Neumaier's sum.
void Accumulator::AddToSum(double next) {
  const double total = all_.sum + next;
  const double lost = std::fabs(all_.sum) >= std::fabs(next) ? (all_.sum - total) + next : (next - total) + all_.sum;
  if (std::isfinite(total)) rest_ += lost;
  all_.sum = total;
}

double Accumulator::Sum() const { return std::isfinite(all_.sum) ? all_.sum + rest_ : all_.sum; }

Number Accumulator::Extreme(uint64_t integer, double real) const {
  if (all_.count == 0 || all_.nan > 0) return kNaN;
  if (IsFloatingPoint(dtype_)) return real;
  return IsSigned(dtype_) ? Number(static_cast<int64_t>(integer)) : Number(integer);
}

}  // namespace dcpctl::ops
