// The loops of the plug-in over elements, which need no LibTorch.
#include "plugin/torch/loops.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace dcpctl::plugin {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
StatisticsV1 Of(const std::vector<T>& data) {
  return StatisticsOf(data.data(), data.size());
}

TEST(Statistics, AreExactForSmallNumbers) {
  std::vector<float> data;
  for (int i = 0; i < 37; ++i) data.push_back(static_cast<float>(i));
  const StatisticsV1 found = Of(data);
  EXPECT_EQ(found.count, 37u);
  EXPECT_EQ(found.min, 0);
  EXPECT_EQ(found.max, 36);
  EXPECT_EQ(found.sum, 666);
  EXPECT_EQ(found.squares, 4218);  // n (n^2 - 1) / 12
  EXPECT_EQ(found.nan + found.inf, 0u);
}

TEST(Statistics, CountNanAndInfinitiesWithTheirPlaces) {
  const StatisticsV1 found = Of<double>({1, 2, -kInf, 3, kNaN, 4, 5, 6, 7, 8, kNaN, kInf});
  EXPECT_EQ(found.nan, 2u);
  EXPECT_EQ(found.inf, 2u);
  EXPECT_EQ(found.first_nan, 4u);
  EXPECT_EQ(found.first_inf, 2u);
  EXPECT_TRUE(std::isnan(found.sum));
  EXPECT_EQ(Of<float>({1, std::numeric_limits<float>::infinity()}).sum, kInf);
}

TEST(Statistics, DoNotTakeAnOverflowForAnInfinity) {
  const StatisticsV1 found = Of<double>({1e308, 1e308, 1e308});
  EXPECT_EQ(found.inf, 0u);
  EXPECT_EQ(found.max, 1e308);
}

TEST(Statistics, HoldTheExtremesOfIntegers) {
  const auto low = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(static_cast<int64_t>(Of<int64_t>({5, low, 7}).low), low);
  EXPECT_EQ(static_cast<int64_t>(Of<int8_t>({-3, -7}).low), -7);
  EXPECT_EQ(static_cast<int64_t>(Of<int8_t>({-3, -7}).high), -3);
  EXPECT_EQ(Of<uint64_t>({1, std::numeric_limits<uint64_t>::max()}).high, std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace dcpctl::plugin
