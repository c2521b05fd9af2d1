// Element types of tensors, under PyTorch's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dcpctl {

enum class DType : uint8_t {
#define X(constant, name, bytes, swap_unit, floating, storage, safetensors) constant,
#include "dcpctl/dtypes.def"
#undef X
};

// "float32", "bfloat16", "float8_e4m3fn", ...
[[nodiscard]] std::string_view Name(DType dtype);
[[nodiscard]] std::optional<DType> DTypeFromName(std::string_view name);
// Bytes of one element.
[[nodiscard]] uint64_t ItemBytes(DType dtype);
// Bytes that byte order applies to: half an item for complex types.
[[nodiscard]] uint64_t SwapUnit(DType dtype);
[[nodiscard]] bool IsFloatingPoint(DType dtype);
// The class of module `torch` that torch.save names in persistent ids ("FloatStorage"); empty for types
// that came after those classes and are saved as untyped bytes.
[[nodiscard]] std::string_view StorageClass(DType dtype);
[[nodiscard]] std::optional<DType> DTypeFromStorageClass(std::string_view name);

}  // namespace dcpctl
