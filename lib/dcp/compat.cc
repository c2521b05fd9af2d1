#include "dcp/compat.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"

namespace dcpctl::dcp {
namespace {

// Both homes of TensorProperties still load in PyTorch today; this is the one that 2.0 to 2.2 know, too.
constexpr std::string_view kOldProperties = "torch.distributed._shard.sharded_tensor.metadata";

std::optional<std::pair<unsigned, unsigned>> ParseVersion(std::string_view text) {
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, minor_error] = std::from_chars(dot + 1, end, minor);
  if (minor_error != std::errc() || (rest != end && *rest != '.' && *rest != '+')) return std::nullopt;
  return std::pair(major, minor);
}

// The first PyTorch that has it, as Compat::number.
unsigned FirstVersion(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2: return 2'001;
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ: return 2'002;
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64: return 2'003;
    case DType::kFloat8E8M0FNU: return 2'007;
    case DType::kFloat4E2M1FNx2: return 2'008;
    default: return 0;
  }
}

}  // namespace

Compat DefaultCompat() {
  return {.version = {},
          .package = "torch.distributed.checkpoint",
          .properties = kOldProperties,
          .format_enum = "MEM_FORMAT_ENCODING",
          .flattening = Flattening::kAlways};
}

Result<Compat> CompatOf(std::string_view version) {
  const auto parsed = ParseVersion(version);
  if (!parsed) return Fail(ErrorKind::kUsage, "compat is " + Quote(version) + ", expected a PyTorch version like 2.3");
  if (*parsed < std::pair(1U, 13U))
    return Fail(ErrorKind::kUnsupported,
                "PyTorch " + std::string(version) + " has no distributed checkpoints, expected 1.13 or later");
  Compat compat = DefaultCompat();
  compat.version = version;
  compat.number = parsed->first * 1000 + std::min(parsed->second, 999U);
  if (*parsed < std::pair(2U, 0U)) {
    compat.package = "torch.distributed._shard.checkpoint";
    compat.flattening = Flattening::kNone;
  } else if (*parsed < std::pair(2U, 4U)) {
    compat.flattening = Flattening::kWithTensors;
  }
  return compat;
}

Result<void> CheckDType(const Compat& compat, DType dtype) {
  const unsigned first = FirstVersion(dtype);
  if (compat.number >= first) return {};
  return Fail(Error(ErrorKind::kUnsupported,
                    "PyTorch " + std::string(compat.version) + " has no " + std::string(Name(dtype)) + ", expected " +
                        std::to_string(first / 1000) + "." + std::to_string(first % 1000) + " or later")
                  .Advise("--exclude leaves such tensors out"));
}

}  // namespace dcpctl::dcp
