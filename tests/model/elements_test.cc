#include "model/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace dcpctl {
namespace {

template <typename T>
std::vector<std::byte> Bytes(std::initializer_list<T> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

double ValueOf(DType dtype, uint8_t bits) { return ElementValue(dtype, Bytes<uint8_t>({bits})).value(); }

TEST(Elements, SameBitsAreNoDifference) {
  const auto bytes = Bytes<float>({1, NAN, -0.0F});
  EXPECT_FALSE(CompareElements(DType::kFloat32, bytes, bytes));
}

TEST(Elements, FirstCountAndLargest) {
  const auto found = CompareElements(DType::kFloat32, Bytes<float>({1, 2, 3, 4}), Bytes<float>({1, 2.5, 3, -4}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 1U);
  EXPECT_EQ(found->count, 2U);
  EXPECT_EQ(found->largest, Distance(8.0));
  EXPECT_EQ(found->without_distance, 0U);
}

TEST(Elements, ZerosOfBothSignsDifferByNothing) {
  const auto found = CompareElements(DType::kFloat64, Bytes<double>({0.0}), Bytes<double>({-0.0}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->largest, Distance(0.0));
}

TEST(Elements, WhatIsNoNumberHasNoDistance) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto found = CompareElements(DType::kFloat32, Bytes<float>({1, NAN, infinity}), Bytes<float>({NAN, 1, -1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 3U);
  EXPECT_EQ(found->without_distance, 3U);
  EXPECT_FALSE(found->largest);
}

TEST(Elements, IntegersAreExact) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  auto found = CompareElements(DType::kInt64, Bytes<int64_t>({kLeast, 7}), Bytes<int64_t>({kMost, 8}));
  EXPECT_EQ(found->largest, Distance(UINT64_MAX));
  found = CompareElements(DType::kInt8, Bytes<int8_t>({-128}), Bytes<int8_t>({127}));
  EXPECT_EQ(found->largest, Distance(uint64_t{255}));
  found = CompareElements(DType::kUInt64, Bytes<uint64_t>({UINT64_MAX}), Bytes<uint64_t>({0}));
  EXPECT_EQ(found->largest, Distance(UINT64_MAX));
  found = CompareElements(DType::kBool, Bytes<uint8_t>({1}), Bytes<uint8_t>({0}));
  EXPECT_EQ(found->largest, Distance(uint64_t{1}));
}

TEST(Elements, ComplexNumbersByModulus) {
  const auto found = CompareElements(DType::kComplex64, Bytes<float>({1, 2}), Bytes<float>({4, 6}));
  EXPECT_EQ(found->largest, Distance(5.0));
  EXPECT_EQ(found->count, 1U);
}

TEST(Elements, OtherTypesHaveBitsOnly) {
  for (const DType dtype : {DType::kQInt8, DType::kFloat4E2M1FNx2, DType::kBits8}) {
    const auto found = CompareElements(dtype, Bytes<uint8_t>({1, 2}), Bytes<uint8_t>({1, 3}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->first, 1U);
    EXPECT_EQ(found->without_distance, 1U);
    EXPECT_FALSE(ElementValue(dtype, Bytes<uint8_t>({1})));
  }
}

TEST(Elements, WithinATolerance) {
  const auto a = Bytes<float>({1, 100, 0, -2, 5});
  const auto b = Bytes<float>({1, 101, 1e-9F, 2, 5.5});
  auto found = CompareElements(DType::kFloat32, a, b, Tolerance{.relative = 0.01, .absolute = 1e-8});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->close, 2U);
  EXPECT_EQ(found->count, 2U);
  EXPECT_EQ(found->first, 3U);
  EXPECT_EQ(found->largest, Distance(4.0));
  // The second one is what a tolerance is relative to.
  found = CompareElements(DType::kFloat64, Bytes<double>({100, 110}), Bytes<double>({110, 100}), Tolerance{0.095, 0});
  EXPECT_EQ(found->close, 1U);
  EXPECT_EQ(found->first, 1U);
  EXPECT_EQ(CompareElements(DType::kFloat64, Bytes<double>({2}), Bytes<double>({2.5}), Tolerance{0, 0.5})->close, 1U);
  EXPECT_EQ(CompareElements(DType::kFloat32, Bytes<float>({0}), Bytes<float>({-0.0F}), Tolerance{})->close, 1U);
  EXPECT_EQ(CompareElements(DType::kComplex64, Bytes<float>({3, 4}), Bytes<float>({0, 0}), Tolerance{1, 5})->count, 0U);
  EXPECT_EQ(CompareElements(DType::kComplex64, Bytes<float>({3, 4}), Bytes<float>({0, 0}), Tolerance{1, 4})->count, 1U);
}

TEST(Elements, WhatIsNoNumberIsWithinNoTolerance) {
  constexpr Tolerance kWide = {.relative = 1e300, .absolute = 1e300};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto found = CompareElements(DType::kFloat64, Bytes<double>({NAN, 1, kInfinity, -kInfinity, NAN, kInfinity}),
                                     Bytes<double>({1, NAN, 1, kInfinity, NAN, kInfinity}), kWide);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 4U);
  EXPECT_EQ(found->without_distance, 4U);
  EXPECT_EQ(CompareElements(DType::kInt32, Bytes<int32_t>({1}), Bytes<int32_t>({2}), kWide)->count, 1U);
  EXPECT_EQ(CompareElements(DType::kBool, Bytes<uint8_t>({1}), Bytes<uint8_t>({0}), kWide)->count, 1U);
  EXPECT_EQ(CompareElements(DType::kQInt8, Bytes<uint8_t>({1}), Bytes<uint8_t>({2}), kWide)->count, 1U);
}

// The extremes that PyTorch's finfo gives, and the patterns without a number.
TEST(Elements, SmallFloats) {
  EXPECT_EQ(ValueOf(DType::kFloat8E4M3FN, 0x7e), 448);
  EXPECT_EQ(ValueOf(DType::kFloat8E4M3FN, 0x01), std::ldexp(1, -9));
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E4M3FN, 0xff)));
  EXPECT_EQ(ValueOf(DType::kFloat8E5M2, 0x7b), 57344);
  EXPECT_EQ(ValueOf(DType::kFloat8E5M2, 0xfc), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E5M2, 0x7d)));
  EXPECT_EQ(ValueOf(DType::kFloat8E4M3FNUZ, 0x7f), 240);
  EXPECT_TRUE(std::isnan(ValueOf(DType::kFloat8E4M3FNUZ, 0x80)));
  EXPECT_EQ(ValueOf(DType::kFloat8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(ValueOf(DType::kFloat8E8M0FNU, 0x80), 2);
  EXPECT_EQ(ElementValue(DType::kFloat16, Bytes<uint16_t>({0x7bff})), 65504);
  EXPECT_EQ(ElementValue(DType::kFloat16, Bytes<uint16_t>({0x8001})), -std::ldexp(1, -24));
  EXPECT_EQ(ElementValue(DType::kBFloat16, Bytes<uint16_t>({0xc040})), -3);
  EXPECT_EQ(ElementValue(DType::kInt16, Bytes<int16_t>({-5})), -5);
}

TEST(Elements, PartsJoinInAnyOrder) {
  const ElementsDifference a{.first = 4, .count = 1, .largest = Distance(1.0), .without_distance = 0, .close = 3};
  const ElementsDifference b{.first = 2, .count = 2, .largest = std::nullopt, .without_distance = 2};
  for (const auto& order : {std::vector{a, b}, std::vector{b, a}}) {
    ElementsDifference sum;
    for (const ElementsDifference& part : order) sum.Add(part);
    sum.Add({.close = 1});
    EXPECT_EQ(sum.first, 2U);
    EXPECT_EQ(sum.count, 3U);
    EXPECT_EQ(sum.largest, Distance(1.0));
    EXPECT_EQ(sum.without_distance, 2U);
    EXPECT_EQ(sum.close, 4U);
  }
}

}  // namespace
}  // namespace dcpctl
