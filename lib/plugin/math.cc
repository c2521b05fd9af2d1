#include "plugin/math.h"

#include <string>

#include "base/result.h"
#include "plugin/loader.h"

namespace dcpctl::plugin {
namespace {

constexpr char kFile[] = "dcpctl_torch";
constexpr char kAdvice[] =
    "it is built where LibTorch is: apt-get install libtorch-dev, and build dcpctl again; or name the folder of the "
    "plug-in in DCPCTL_PLUGIN_DIR";

// Names of types are literals, and end with a zero byte.
const char* NameOf(DType dtype) { return Name(dtype).data(); }

}  // namespace

Result<TensorMath> OpenTensorMath(const std::filesystem::path& asked, std::string_view purpose) {
  DCPCTL_ASSIGN(
      const PluginV1* const plugin,
      OpenPlugin(PluginFolder(asked), {.kind = kTensorMathKind, .file = kFile, .purpose = purpose, .advice = kAdvice}));
  const auto* const table = static_cast<const TensorMathV1*>(plugin->table);
  return TensorMath{.table = table, .library = plugin->library == nullptr ? "" : plugin->library};
}

bool HasType(const TensorMathV1& math, DType dtype) { return math.has_type(NameOf(dtype)) != 0; }

Result<void> CastElements(const TensorMathV1& math, DType from, DType to, uint64_t count, std::span<const std::byte> in,
                          std::span<std::byte> out) {
  ErrorTextV1 error;
  if (math.cast(NameOf(from), NameOf(to), count, in.data(), out.data(), &error) == 0) return {};
  return Fail(ErrorKind::kUnsupported,
              "cannot cast from " + std::string(Name(from)) + " to " + std::string(Name(to)) + ": " + error.text);
}

Result<StatisticsV1> StatisticsOfElements(const TensorMathV1& math, DType dtype, uint64_t count,
                                          std::span<const std::byte> bytes) {
  StatisticsV1 statistics;
  ErrorTextV1 error;
  if (math.statistics(NameOf(dtype), count, bytes.data(), &statistics, &error) == 0) return statistics;
  return Fail(ErrorKind::kUnsupported, "no statistics of " + std::string(Name(dtype)) + ": " + error.text);
}

}  // namespace dcpctl::plugin
