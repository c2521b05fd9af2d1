// Tensor maths without LibTorch: a table whose casts are no arithmetic, but show what went through them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "plugin/tensor_math.h"
#include "plugin/torch/loops.h"

namespace dcpctl::test {

// Bytes of the floating-point types that the fake has; 0 for others.
inline size_t FakeItemBytes(std::string_view type) {
  if (type == "float64") return 8;
  if (type == "float32") return 4;
  return type == "float16" || type == "bfloat16" ? 2 : 0;
}

// A narrower item is the upper bytes of a wider one, and a wider one has zeros below.
inline int FakeCast(const char* from, const char* to, uint64_t count, const void* in, void* out,
                    plugin::ErrorTextV1* error) {
  const size_t from_bytes = FakeItemBytes(from);
  const size_t to_bytes = FakeItemBytes(to);
  if (from_bytes == 0 || to_bytes == 0) {
    std::strcpy(error->text, "the fake does not have it");
    return 1;
  }
  const size_t common = std::min(from_bytes, to_bytes);
  std::memset(out, 0, count * to_bytes);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<std::byte*>(out) + (i + 1) * to_bytes - common,
                static_cast<const std::byte*>(in) + (i + 1) * from_bytes - common, common);
  }
  return 0;
}

inline int FakeStatistics(const char* type, uint64_t count, const void* in, plugin::StatisticsV1* out,
                          plugin::ErrorTextV1* error) {
  *out = {};
  if (count == 0) return 0;
  const std::string_view name = type;
  if (name == "float32") {
    *out = plugin::StatisticsOf(static_cast<const float*>(in), count);
  } else if (name == "float64") {
    *out = plugin::StatisticsOf(static_cast<const double*>(in), count);
  } else if (name == "int64") {
    *out = plugin::StatisticsOf(static_cast<const int64_t*>(in), count);
  } else if (name == "bool" || name == "uint8") {
    *out = plugin::StatisticsOf(static_cast<const uint8_t*>(in), count);
  } else {
    std::strcpy(error->text, "the fake does not have it");
    return 1;
  }
  return 0;
}

inline int FakeHasType(const char* type) {
  const std::string_view name = type;
  return FakeItemBytes(name) > 0 || name == "int64" || name == "bool" || name == "uint8" ? 1 : 0;
}

inline constexpr plugin::TensorMathV1 kFakeMath{
    .has_type = FakeHasType, .cast = FakeCast, .statistics = FakeStatistics};

}  // namespace dcpctl::test
