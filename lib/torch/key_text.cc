#include "torch/key_text.h"

#include <utility>

#include "dcpctl/dtype.h"

namespace dcpctl::torch {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr int kMaxDepth = 20;  // of tuples in tuples

// Whether Print gives Python's repr, and that is its str, too. Takes time as the text is long.
bool IsPrintedAsPython(Value key, int depth) {
  switch (key.kind()) {
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
    case Kind::kFloat:
    case Kind::kString:
    case Kind::kBytes: return true;
    case Kind::kTuple:
      if (depth >= kMaxDepth) return false;
      for (size_t i = 0; i < key.size(); ++i) {
        if (!IsPrintedAsPython(key[i], depth + 1)) return false;
      }
      return true;
    case Kind::kGlobal:
      if (key.module() == "torch" && DTypeFromName(key.name())) return true;
      return key.IsGlobal("builtins", "Ellipsis") || pickle::Print(key).starts_with("<class '");
    case Kind::kObject:
      return key.IsCallOf("builtins", "complex") || key.IsCallOf("builtins", "range") ||
             key.IsCallOf("torch", "Size") || pickle::AsBytes(key);
    default: return false;
  }
}

// np.int64(5), np.True_: the number alone. Empty for what is no number of NumPy.
std::string TextOfNumpyNumber(Value key, const std::string& printed) {
  if (!key.IsCallOf("numpy._core.multiarray", "scalar") && !key.IsCallOf("numpy.core.multiarray", "scalar")) return {};
  if (printed == "np.True_") return "True";
  if (printed == "np.False_") return "False";
  const size_t open = printed.find('(');
  if (!printed.starts_with("np.") || open == std::string::npos) return {};
  return printed.substr(open + 1, printed.size() - open - 2);
}

// cpu, cuda:1. Empty for what is no device.
std::string TextOfDevice(Value key) {
  if (!key.IsCallOf("torch", "device")) return {};
  const Value args = key.args();
  const bool has_index = args.size() == 2 && args[1].Is(Kind::kInt);
  if (!(args.size() == 1 || has_index) || !args[0].Is(Kind::kString)) return {};
  return std::string(args[0].AsText()) + (has_index ? ":" + std::to_string(args[1].AsInt()) : "");
}

}  // namespace

KeyText TextOfKey(Value key, size_t max_bytes) {
  if (key.Is(Kind::kString)) return {.text = std::string(key.AsText().substr(0, max_bytes + 1))};
  std::string printed = pickle::Print(key, {.max_bytes = max_bytes + 1});
  const bool is_whole = printed.size() <= max_bytes;
  if (!key.Is(Kind::kObject)) {
    const bool is_certain = is_whole && IsPrintedAsPython(key, 0);
    return {.text = std::move(printed), .is_certain = is_certain};
  }
  if (is_whole && key.args().Is(Kind::kTuple)) {
    for (std::string text : {TextOfNumpyNumber(key, printed), TextOfDevice(key)}) {
      if (!text.empty()) return {.text = std::move(text), .printed = std::move(printed)};
    }
  }
  return {.text = printed, .printed = printed, .is_certain = is_whole && IsPrintedAsPython(key, 0)};
}

}  // namespace dcpctl::torch
