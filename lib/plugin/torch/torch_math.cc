// The table of tensor_math.h on LibTorch's C++ interface, from 1.13 on.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarType.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/abi.h"
#include "plugin/tensor_math.h"
#include "plugin/torch/loops.h"

namespace dcpctl::plugin {
namespace {

// Versions differ in the types that they have; float8 came with 2.1.
std::optional<c10::ScalarType> TypeOf(std::string_view name) {
  using c10::ScalarType;
  struct Row {
    std::string_view name;
    ScalarType type;
  };
  static constexpr Row kRows[] = {
    {"float64", ScalarType::Double},
    {"float32", ScalarType::Float},
    {"float16", ScalarType::Half},
    {"bfloat16", ScalarType::BFloat16},
    {"int64", ScalarType::Long},
    {"int32", ScalarType::Int},
    {"int16", ScalarType::Short},
    {"int8", ScalarType::Char},
    {"uint8", ScalarType::Byte},
    {"bool", ScalarType::Bool},
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    {"float8_e4m3fn", ScalarType::Float8_e4m3fn},
    {"float8_e5m2", ScalarType::Float8_e5m2},
#endif
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
    {"float8_e4m3fnuz", ScalarType::Float8_e4m3fnuz},
    {"float8_e5m2fnuz", ScalarType::Float8_e5m2fnuz},
#endif
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 7)
    {"float8_e8m0fnu", ScalarType::Float8_e8m0fnu},
#endif
  };
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

c10::ScalarType KnownType(std::string_view name) {
  if (const auto type = TypeOf(name)) return *type;
  throw std::invalid_argument("LibTorch " TORCH_VERSION " does not have " + std::string(name));
}

// No exception leaves the plug-in, and no work goes to LibTorch's own threads.
template <typename Fn>
int Guarded(ErrorTextV1* error, const Fn& fn) {
  try {
    static const bool one_thread = [] {
      at::set_num_threads(1);
      return true;
    }();
    static_cast<void>(one_thread);
    const c10::InferenceMode no_gradients;
    fn();
    return 0;
  } catch (const std::exception& e) {
    const std::string_view first_line = std::string_view(e.what()).substr(0, std::string_view(e.what()).find('\n'));
    const size_t length = std::min(first_line.size(), sizeof(error->text) - 1);
    std::memcpy(error->text, first_line.data(), length);
    error->text[length] = '\0';
  } catch (...) {
    std::memcpy(error->text, "unknown exception", sizeof("unknown exception"));
  }
  return 1;
}

// Elements that go through LibTorch's vector code at a time are a multiple of this many.
constexpr size_t kVector = 256;
constexpr size_t kBlock = 8192;
constexpr size_t kMostItemBytes = 8;
using Buffer = std::array<std::byte, kBlock * kMostItemBytes>;

bool IsAligned(const void* data, size_t item) { return reinterpret_cast<uintptr_t>(data) % item == 0; }

at::Tensor View(void* data, size_t count, c10::ScalarType type) {
  return at::from_blob(data, {static_cast<int64_t>(count)}, at::TensorOptions(type));
}

void CopyAligned(c10::ScalarType from, c10::ScalarType to, size_t count, const void* in, void* out) {
  // A source is only read.
  View(out, count, to).copy_(View(const_cast<void*>(in), count, from));
}

// LibTorch converts the last few elements of a tensor by other code than the rest, and what becomes of a NaN differs.
// Here all go through the same: results do not depend on how a tensor was cut into runs.
void Convert(c10::ScalarType from, c10::ScalarType to, size_t count, const void* in, void* out) {
  const size_t from_bytes = c10::elementSize(from);
  const size_t to_bytes = c10::elementSize(to);
  size_t done = 0;
  if (IsAligned(in, from_bytes) && IsAligned(out, to_bytes)) {
    done = count / kVector * kVector;
    if (done > 0) CopyAligned(from, to, done, in, out);
  }
  alignas(64) static thread_local Buffer padded_in;
  alignas(64) static thread_local Buffer padded_out;
  while (done < count) {
    const size_t part = std::min(kBlock, count - done);
    const size_t whole = (part + kVector - 1) / kVector * kVector;
    std::memset(padded_in.data(), 0, whole * from_bytes);
    std::memcpy(padded_in.data(), static_cast<const std::byte*>(in) + done * from_bytes, part * from_bytes);
    CopyAligned(from, to, whole, padded_in.data(), padded_out.data());
    std::memcpy(static_cast<std::byte*>(out) + done * to_bytes, padded_out.data(), part * to_bytes);
    done += part;
  }
}

// The loops over elements need no LibTorch for types of the machine.
bool IsUnsigned(std::string_view type) { return type == "uint16" || type == "uint32" || type == "uint64"; }

int HasType(const char* type) { return TypeOf(type).has_value() || IsUnsigned(type) ? 1 : 0; }

int Cast(const char* from, const char* to, uint64_t count, const void* in, void* out, ErrorTextV1* error) {
  return Guarded(error, [&] { Convert(KnownType(from), KnownType(to), count, in, out); });
}

// Of elements as they are, or of a copy at an address that is right for them.
template <typename T>
StatisticsV1 StatisticsAt(const void* in, size_t count) {
  if (IsAligned(in, alignof(T))) return StatisticsOf(static_cast<const T*>(in), count);
  std::vector<T> copy(count);
  std::memcpy(copy.data(), in, count * sizeof(T));
  return StatisticsOf(copy.data(), count);
}

// Smaller floating-point types become float32, which holds all their values.
StatisticsV1 StatisticsWidened(c10::ScalarType type, const void* in, size_t count) {
  std::vector<float> wide(count);
  Convert(type, c10::ScalarType::Float, count, in, wide.data());
  return StatisticsOf(wide.data(), count);
}

StatisticsV1 StatisticsByName(std::string_view name, const void* in, size_t count) {
  if (name == "float64") return StatisticsAt<double>(in, count);
  if (name == "float32") return StatisticsAt<float>(in, count);
  if (name == "int64") return StatisticsAt<int64_t>(in, count);
  if (name == "int32") return StatisticsAt<int32_t>(in, count);
  if (name == "int16") return StatisticsAt<int16_t>(in, count);
  if (name == "int8") return StatisticsAt<int8_t>(in, count);
  if (name == "uint8" || name == "bool") return StatisticsAt<uint8_t>(in, count);
  if (name == "uint16") return StatisticsAt<uint16_t>(in, count);
  if (name == "uint32") return StatisticsAt<uint32_t>(in, count);
  if (name == "uint64") return StatisticsAt<uint64_t>(in, count);
  return StatisticsWidened(KnownType(name), in, count);
}

int Statistics(const char* type, uint64_t count, const void* in, StatisticsV1* out, ErrorTextV1* error) {
  return Guarded(error, [&] { *out = count == 0 ? StatisticsV1() : StatisticsByName(type, in, count); });
}

constexpr TensorMathV1 kTable{.has_type = HasType, .cast = Cast, .statistics = Statistics};

}  // namespace
}  // namespace dcpctl::plugin

DCPCTL_PLUGIN(dcpctl::plugin::kTensorMathKind, "LibTorch " TORCH_VERSION, &dcpctl::plugin::kTable);
