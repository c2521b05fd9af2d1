// The statistics of a tensor, put together from those of its parts.
#pragma once

#include <cstdint>

#include "dcpctl/dtype.h"
#include "dcpctl/stats.h"
#include "plugin/tensor_math.h"

namespace dcpctl::ops {

// Parts are added from front to back. The result depends on how they are cut, in the last bits.
class Accumulator {
 public:
  explicit Accumulator(DType dtype) : dtype_(dtype) {}

  // `first` is the number of the first element of `next`.
  void Add(const plugin::StatisticsV1& next, uint64_t first);
  void Add(const Accumulator& next);

  [[nodiscard]] TensorStats Stats() const;
  [[nodiscard]] uint64_t count() const { return all_.count; }
  // Numbers of the first elements that are NaN and infinite; of no meaning where none is.
  [[nodiscard]] uint64_t first_nan() const { return all_.first_nan; }
  [[nodiscard]] uint64_t first_inf() const { return all_.first_inf; }

 private:
  [[nodiscard]] bool Less(uint64_t a, uint64_t b) const;
  [[nodiscard]] double Sum() const;
  [[nodiscard]] Number Extreme(uint64_t integer, double real) const;
  void AddToSum(double next);

  DType dtype_;
  plugin::StatisticsV1 all_;
  double rest_ = 0;  // of the sum: what a double could not hold
};

}  // namespace dcpctl::ops
