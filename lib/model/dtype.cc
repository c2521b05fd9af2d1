#include "dcpctl/dtype.h"

#include <array>

namespace dcpctl {
namespace {

struct Row {
  std::string_view name;
  uint64_t bytes;
  uint64_t swap_unit;
  bool floating;
  std::string_view storage;
};

constexpr std::array kRows = {
#define X(constant, name, bytes, swap_unit, floating, storage, safetensors) \
  Row{name, bytes, swap_unit, floating, storage},
#include "dcpctl/dtypes.def"
#undef X
};

const Row& At(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

std::optional<DType> FindRow(std::string_view text, std::string_view Row::*field) {
  if (text.empty()) return std::nullopt;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].*field == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(DType dtype) { return At(dtype).name; }
uint64_t ItemBytes(DType dtype) { return At(dtype).bytes; }
uint64_t SwapUnit(DType dtype) { return At(dtype).swap_unit; }
bool IsFloatingPoint(DType dtype) { return At(dtype).floating; }
std::string_view StorageClass(DType dtype) { return At(dtype).storage; }
std::optional<DType> DTypeFromName(std::string_view name) { return FindRow(name, &Row::name); }
std::optional<DType> DTypeFromStorageClass(std::string_view name) { return FindRow(name, &Row::storage); }

}  // namespace dcpctl
