// How small types of PyTorch and NumPy look. Tensors are for PrintOptions::describe; arrays are summed up.
#include <algorithm>
#include <array>
#include <bit>

#include "base/small_float.h"
#include "pickle/printer.h"
#include "pickle/repr.h"

namespace dcpctl::pickle {
namespace {

constexpr std::string_view kNumpyBigEndian = ">";
constexpr size_t kMostOfANumber = 16;  // bytes

// `bytes` as one number of a NumPy type; false for other types than plain numbers.
bool AppendNumpyNumber(std::string& out, std::string_view type, std::string_view bytes) {
  if (bytes.empty() || bytes.size() > sizeof(uint64_t)) return false;
  uint64_t bits = 0;
  for (size_t i = bytes.size(); i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  const int unused = 64 - 8 * static_cast<int>(bytes.size());
  if (type == "float64" && bytes.size() == 8) {
    AppendFloat(out, std::bit_cast<double>(bits));
  } else if (type == "float32" && bytes.size() == 4) {
    AppendFloat32(out, std::bit_cast<float>(static_cast<uint32_t>(bits)));
  } else if (type == "float16" && bytes.size() == 2) {
    AppendFloat(out, IeeeSmallFloatValue(bits, kHalfFormat));
  } else if (type.starts_with("int")) {
    out += std::to_string(static_cast<int64_t>(bits << unused) >> unused);
  } else if (type.starts_with("uint")) {
    out += std::to_string(bits);
  } else {
    return false;
  }
  return true;
}

bool AppendNumpyComplex(std::string& out, std::string_view type, std::string_view bytes) {
  const auto part = [&](size_t start, size_t width) {
    uint64_t bits = 0;
    for (size_t i = width; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[start + i]);
    return width == 8 ? std::bit_cast<double>(bits)
                      : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  };
  const size_t width = type == "complex128" ? 8 : type == "complex64" ? 4 : 0;
  if (width == 0 || bytes.size() != 2 * width) return false;
  AppendComplex(out, part(0, width), part(width, width));
  return true;
}

bool IsBigEndian(Value dtype) {
  const std::optional<Value> state = dtype.state();
  if (!state || !state->Is(Kind::kTuple) || state->size() < 2) return false;
  return (*state)[1].Is(Kind::kString) && (*state)[1].AsText() == kNumpyBigEndian;
}

}  // namespace

std::span<const Printer::Known> TorchTypes::Table() {
  static constexpr std::array kTable = {
      Printer::Known{"torch", "Size", &Printer::Size},
      Printer::Known{"torch", "device", &Printer::Device},
      Printer::Known{"torch.serialization", "_get_layout", &Printer::Layout},
      Printer::Known{"numpy", "dtype", &Printer::NumpyDType},
      Printer::Known{"numpy.core.multiarray", "scalar", &Printer::NumpyScalar},
      Printer::Known{"numpy._core.multiarray", "scalar", &Printer::NumpyScalar},
      Printer::Known{"numpy.core.multiarray", "_reconstruct", &Printer::NumpyArray},
      Printer::Known{"numpy._core.multiarray", "_reconstruct", &Printer::NumpyArray},
  };
  return kTable;
}

bool Printer::Size(Value object) {
  const Value args = object.args();
  if (!args.Is(Kind::kTuple) || args.size() != 1 || !args[0].Is(Kind::kTuple)) return false;
  Text("torch.Size([");
  PrintItems(args[0]);
  Text("])");
  return true;
}

bool Printer::Device(Value object) {
  const Value args = object.args();
  if (!args.Is(Kind::kTuple) || args.size() < 1 || args.size() > 2 || !args[0].Is(Kind::kString)) return false;
  Text("device(type=");
  Print(args[0]);
  if (args.size() == 2) {
    Text(", index=");
    Print(args[1]);
  }
  Text(")");
  return true;
}

bool Printer::Layout(Value object) {
  const Value args = object.args();
  if (!args.Is(Kind::kTuple) || args.size() != 1 || !args[0].Is(Kind::kString)) return false;
  Text(args[0].AsText());
  return true;
}

bool Printer::NumpyDType(Value object) {
  const std::string name = NumpyTypeName(object);
  if (name.empty()) return false;
  Text("dtype(");
  AppendString(out_, name, Budget());
  Text(")");
  return true;
}

bool Printer::NumpyScalar(Value object) {
  const Value args = object.args();
  if (!args.Is(Kind::kTuple) || args.size() != 2) return false;
  const std::string type = NumpyTypeName(args[0]);
  std::optional<std::string> bytes = AsBytes(args[1], kMostOfANumber + 1);
  if (!bytes && args[1].Is(Kind::kString)) bytes = args[1].AsText().substr(0, kMostOfANumber + 1);  // Python 2
  if (type.empty() || !bytes) return false;
  if (IsBigEndian(args[0])) std::ranges::reverse(*bytes);
  if (type == "bool" && bytes->size() == 1) {
    Text((*bytes)[0] != 0 ? "np.True_" : "np.False_");
    return true;
  }
  std::string number;
  if (!AppendNumpyNumber(number, type, *bytes) && !AppendNumpyComplex(number, type, *bytes)) return false;
  Text("np.");
  Text(type);
  Text("(");
  Text(number);
  Text(")");
  return true;
}

// The state is (version, shape, dtype, is_fortran, data).
bool Printer::NumpyArray(Value object) {
  const std::optional<Value> state = object.state();
  if (!state || !state->Is(Kind::kTuple) || state->size() != 5) return false;
  const std::string type = NumpyTypeName((*state)[2]);
  if (type.empty()) return false;
  Text("array(shape=");
  Print((*state)[1]);
  Text(", dtype=");
  Text(type);
  Text(")");
  return true;
}

}  // namespace dcpctl::pickle
