// The plug-in for arithmetic on tensors, found and opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "dcpctl/dtype.h"
#include "dcpctl/error.h"
#include "plugin/tensor_math.h"

namespace dcpctl::plugin {

// A table and what is behind it. Lives as long as the program.
struct TensorMath {
  const TensorMathV1* table = nullptr;
  std::string_view library = {};  // "LibTorch 2.6.0"
};

// From the folder that is asked for, or else as PluginFolder says. `purpose` is what needs it: "--dtype". kUnsupported
// when there is none, with what to install.
Result<TensorMath> OpenTensorMath(const std::filesystem::path& asked, std::string_view purpose);

[[nodiscard]] bool HasType(const TensorMathV1& math, DType dtype);
// kUnsupported when the library cannot.
Result<void> CastElements(const TensorMathV1& math, DType from, DType to, uint64_t count, std::span<const std::byte> in,
                          std::span<std::byte> out);

Result<StatisticsV1> StatisticsOfElements(const TensorMathV1& math, DType dtype, uint64_t count,
                                          std::span<const std::byte> bytes);

}  // namespace dcpctl::plugin
