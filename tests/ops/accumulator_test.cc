#include "ops/accumulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "plugin/torch/loops.h"

namespace dcpctl::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
Accumulator InParts(DType dtype, const std::vector<T>& data, size_t part) {
  Accumulator all(dtype);
  for (size_t first = 0; first < data.size(); first += part) {
    Accumulator one(dtype);
    one.Add(plugin::StatisticsOf(data.data() + first, std::min(part, data.size() - first)), first);
    all.Add(one);
  }
  return all;
}

TEST(Accumulator, GivesMeanAndDeviationOfTheWhole) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(1000, 2);
  std::vector<double> data(10'007);
  for (double& value : data) value = normal(random);
  long double sum = 0;
  long double squares = 0;
  for (const double value : data) sum += value;
  const long double mean = sum / static_cast<long double>(data.size());
  for (const double value : data) squares += (value - mean) * (value - mean);
  const auto std = static_cast<double>(std::sqrt(squares / static_cast<long double>(data.size() - 1)));
  for (const size_t part : {1U, 7U, 1000U, 20'000U}) {
    const TensorStats stats = InParts(DType::kFloat64, data, part).Stats();
    EXPECT_NEAR(stats.mean, static_cast<double>(mean), 1e-12 * 1000);
    EXPECT_NEAR(stats.std, std, 1e-12 * std);
    EXPECT_EQ(std::get<double>(stats.min), *std::min_element(data.begin(), data.end()));
    EXPECT_EQ(std::get<double>(stats.max), *std::max_element(data.begin(), data.end()));
  }
}

TEST(Accumulator, FindsTheFirstNanAndInfinityOfAll) {
  std::vector<double> data(100, 1.0);
  data[35] = -kInf;
  data[40] = data[99] = kNaN;
  for (const size_t part : {1U, 8U, 33U, 100U}) {
    const Accumulator all = InParts(DType::kFloat64, data, part);
    EXPECT_EQ(all.first_nan(), 40u);
    EXPECT_EQ(all.first_inf(), 35u);
    const TensorStats stats = all.Stats();
    EXPECT_EQ(stats.nan, 2u);
    EXPECT_EQ(stats.inf, 1u);
    for (const double value : {std::get<double>(stats.min), std::get<double>(stats.max), stats.mean, stats.std})
      EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Accumulator, HasInfinitiesAsPyTorchDoes) {
  const TensorStats stats = InParts<double>(DType::kFloat64, {1, 2, kInf, 3, 4}, 2).Stats();
  EXPECT_EQ(std::get<double>(stats.min), 1);
  EXPECT_EQ(std::get<double>(stats.max), kInf);
  EXPECT_EQ(stats.mean, kInf);
  EXPECT_TRUE(std::isnan(stats.std));
  EXPECT_TRUE(std::isnan(InParts<double>(DType::kFloat64, {-kInf, 2, kInf}, 1).Stats().mean));
}

TEST(Accumulator, KeepsIntegersExact) {
  const auto low = std::numeric_limits<int64_t>::min();
  const TensorStats stats = InParts<int64_t>(DType::kInt64, {7, low, low + 1, -1}, 1).Stats();
  EXPECT_EQ(std::get<int64_t>(stats.min), low);
  EXPECT_EQ(std::get<int64_t>(stats.max), 7);
  const auto high = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(std::get<uint64_t>(InParts<uint64_t>(DType::kUInt64, {7, high, 1}, 1).Stats().max), high);
}

TEST(Accumulator, KnowsNothingOfNoElementsAndNoDeviationOfOne) {
  const TensorStats none = Accumulator(DType::kInt32).Stats();
  EXPECT_TRUE(std::isnan(std::get<double>(none.min)));
  EXPECT_TRUE(std::isnan(none.mean));
  const TensorStats one = InParts<float>(DType::kFloat32, {5}, 1).Stats();
  EXPECT_EQ(one.mean, 5);
  EXPECT_TRUE(std::isnan(one.std));
}

}  // namespace
}  // namespace dcpctl::ops
