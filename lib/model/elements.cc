#include "model/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/small_float.h"

namespace dcpctl {
namespace {

constexpr SmallFloatFormat kE4M3 = {.exponent_bits = 4, .fraction_bits = 3, .bias = 7};
constexpr SmallFloatFormat kE5M2 = {.exponent_bits = 5, .fraction_bits = 2, .bias = 15};
// The FNUZ forms have one more bias, and a NaN where others have the negative zero.
constexpr SmallFloatFormat kE4M3Fnuz = {.exponent_bits = 4, .fraction_bits = 3, .bias = 8};
constexpr SmallFloatFormat kE5M2Fnuz = {.exponent_bits = 5, .fraction_bits = 2, .bias = 16};
constexpr uint64_t kFnuzNaN = 0x80;

template <typename T>
T Load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

double BFloat16Value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Of the types that are floating-point and not complex.
std::optional<double> FloatValue(DType dtype, std::span<const std::byte> bytes) {
  const auto byte = [&] { return uint64_t{Load<uint8_t>(bytes)}; };
  switch (dtype) {
    case DType::kFloat64: return Load<double>(bytes);
    case DType::kFloat32: return Load<float>(bytes);
    case DType::kFloat16: return IeeeSmallFloatValue(Load<uint16_t>(bytes), kHalfFormat);
    case DType::kBFloat16: return BFloat16Value(Load<uint16_t>(bytes));
    // No infinity: the one pattern of all ones, of either sign, is NaN.
    case DType::kFloat8E4M3FN: return (byte() & 0x7f) == 0x7f ? std::nan("") : SmallFloatValue(byte(), kE4M3);
    case DType::kFloat8E5M2: return IeeeSmallFloatValue(byte(), kE5M2);
    case DType::kFloat8E4M3FNUZ: return byte() == kFnuzNaN ? std::nan("") : SmallFloatValue(byte(), kE4M3Fnuz);
    case DType::kFloat8E5M2FNUZ: return byte() == kFnuzNaN ? std::nan("") : SmallFloatValue(byte(), kE5M2Fnuz);
    // An exponent alone.
    case DType::kFloat8E8M0FNU: return byte() == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(byte()) - 127);
    default: return std::nullopt;
  }
}

struct Integer {
  uint64_t bits;  // sign-extended
  bool is_signed;
};

std::optional<Integer> IntegerValue(DType dtype, std::span<const std::byte> bytes) {
  const auto of_signed = [](int64_t value) { return Integer{static_cast<uint64_t>(value), true}; };
  switch (dtype) {
    case DType::kInt64: return of_signed(Load<int64_t>(bytes));
    case DType::kInt32: return of_signed(Load<int32_t>(bytes));
    case DType::kInt16: return of_signed(Load<int16_t>(bytes));
    case DType::kInt8: return of_signed(Load<int8_t>(bytes));
    case DType::kUInt64: return Integer{Load<uint64_t>(bytes), false};
    case DType::kUInt32: return Integer{Load<uint32_t>(bytes), false};
    case DType::kUInt16: return Integer{Load<uint16_t>(bytes), false};
    case DType::kUInt8:
    case DType::kBool: return Integer{Load<uint8_t>(bytes), false};
    default: return std::nullopt;
  }
}

// The type of the two halves of a complex one.
std::optional<DType> PartOf(DType dtype) {
  switch (dtype) {
    case DType::kComplex128: return DType::kFloat64;
    case DType::kComplex64: return DType::kFloat32;
    case DType::kComplex32: return DType::kFloat16;
    default: return std::nullopt;
  }
}

// |a - b| where it is a finite number, and |b| of the types that have a tolerance.
struct Measured {
  std::optional<Distance> distance = std::nullopt;
  std::optional<double> magnitude = std::nullopt;
};

Measured MeasuredFloat(double distance, double magnitude) {
  if (!std::isfinite(distance)) return {};
  return {.distance = distance, .magnitude = magnitude};
}

Measured Measure(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b) {
  if (const auto left = IntegerValue(dtype, a)) {
    const auto right = IntegerValue(dtype, b);
    const bool less = left->is_signed ? static_cast<int64_t>(left->bits) < static_cast<int64_t>(right->bits)
                                      : left->bits < right->bits;
    return {.distance =
                less ? right->bits - left->bits : left->bits - right->bits};  // modulo 2^64, which is exact here
  }
  if (const auto part = PartOf(dtype)) {
    const size_t half = a.size() / 2;
    const double real = *FloatValue(*part, b);
    const double imaginary = *FloatValue(*part, b.subspan(half));
    return MeasuredFloat(std::hypot(*FloatValue(*part, a) - real, *FloatValue(*part, a.subspan(half)) - imaginary),
                         std::hypot(real, imaginary));
  }
  const auto left = FloatValue(dtype, a);
  if (!left) return {};
  const double right = *FloatValue(dtype, b);
  return MeasuredFloat(std::abs(*left - right), std::abs(right));
}

bool IsClose(const Measured& measured, const Tolerance& tolerance) {
  return measured.magnitude &&
         std::get<double>(*measured.distance) <= tolerance.absolute + tolerance.relative * *measured.magnitude;
}

}  // namespace

void ElementsDifference::Add(const ElementsDifference& other) {
  close += other.close;
  if (other.count == 0) return;
  first = count == 0 ? other.first : std::min(first, other.first);
  count += other.count;
  without_distance += other.without_distance;
  if (other.largest && (!largest || *largest < *other.largest)) largest = other.largest;
}

std::optional<ElementsDifference> CompareElements(DType dtype, std::span<const std::byte> a,
                                                  std::span<const std::byte> b,
                                                  const std::optional<Tolerance>& tolerance) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return std::nullopt;
  const uint64_t item = ItemBytes(dtype);
  ElementsDifference all;
  for (uint64_t i = 0; i < a.size() / item; ++i) {
    const auto left = a.subspan(i * item, item);
    const auto right = b.subspan(i * item, item);
    if (std::memcmp(left.data(), right.data(), item) == 0) continue;
    const Measured found = Measure(dtype, left, right);
    if (tolerance && IsClose(found, *tolerance)) {
      ++all.close;
      continue;
    }
    all.Add({.first = i,
             .count = 1,
             .largest = found.distance,
             .without_distance = found.distance ? uint64_t{0} : uint64_t{1}});
  }
  return all;
}

std::optional<double> ElementValue(DType dtype, std::span<const std::byte> element) {
  if (const auto integer = IntegerValue(dtype, element)) {
    return integer->is_signed ? static_cast<double>(static_cast<int64_t>(integer->bits))
                              : static_cast<double>(integer->bits);
  }
  return FloatValue(dtype, element);
}

}  // namespace dcpctl
