#include <array>

#include "pickle/arena.h"
#include "pickle/python_types.h"

namespace dcpctl::pickle {
namespace {

// Functions that pickles call, and what they give.
struct Maker {
  std::string_view module;
  std::string_view name;
  std::string_view type;
};
constexpr std::array kMakers = {
    Maker{"_codecs", "encode", "bytes"},
    Maker{"builtins", "type", "type"},
    Maker{"torch.serialization", "_get_layout", "layout"},
    Maker{"torch._utils", "_rebuild_tensor", "Tensor"},
    Maker{"torch._utils", "_rebuild_tensor_v2", "Tensor"},
    Maker{"torch._utils", "_rebuild_tensor_v3", "Tensor"},
    Maker{"torch._utils", "_rebuild_sparse_tensor", "Tensor"},
    Maker{"torch._utils", "_rebuild_sparse_csr_tensor", "Tensor"},
    Maker{"torch._utils", "_rebuild_qtensor", "Tensor"},
    Maker{"torch._utils", "_rebuild_nested_tensor", "Tensor"},
    Maker{"torch._utils", "_rebuild_meta_tensor_no_storage", "Tensor"},
    Maker{"torch._utils", "_rebuild_parameter", "Parameter"},
    Maker{"torch._utils", "_rebuild_parameter_with_state", "Parameter"},
    Maker{"numpy.core.multiarray", "_reconstruct", "ndarray"},
    Maker{"numpy._core.multiarray", "_reconstruct", "ndarray"},
};

// All of it where there is no last part: names are whatever was written.
std::string_view LastPart(std::string_view dotted) {
  const std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  return last.empty() ? dotted : last;
}

std::string NameOfGlobal(Value global) {
  const GlobalName name = NewSpelling({global.module(), global.name()});
  if (name.module == "builtins" && name.name == "Ellipsis") return "ellipsis";
  if (name.module == "builtins" && name.name == "NotImplemented") return "NotImplementedType";
  // PyTorch's dtypes are the only lower-case names of that module that get pickled by name, but for its functions.
  constexpr std::array<std::string_view, 8> kDTypes = {"float",   "bfloat", "int",  "uint",
                                                       "complex", "bool",   "qint", "quint"};
  for (const std::string_view prefix : kDTypes) {
    if (name.module == "torch" && name.name.starts_with(prefix)) return "dtype";
  }
  return "type";
}

std::string NameOfObject(Value object) {
  const Value cls = InstanceOf(object).cls;
  if (!cls.Is(Kind::kGlobal)) return "object";
  const GlobalName name = NewSpelling({cls.module(), cls.name()});
  const Value args = object.args();
  const bool has_args = args.Is(Kind::kTuple) && args.size() > 0;
  // A member of a class: an enum's, nearly always.
  if (name == GlobalName{"builtins", "getattr"} && has_args && args[0].Is(Kind::kGlobal)) {
    return std::string(LastPart(args[0].name()));
  }
  if (name.name == "scalar" && (name.module == "numpy.core.multiarray" || name.module == "numpy._core.multiarray") &&
      has_args) {
    if (std::string type = NumpyTypeName(args[0]); !type.empty()) return type;
  }
  for (const Maker& maker : kMakers) {
    if (maker.module == name.module && maker.name == name.name) return std::string(maker.type);
  }
  return std::string(LastPart(name.name));
}

// torch.save: ('storage', class, ...).
std::string NameOfPersistent(Value value) {
  const Value id = value.persistent_id();
  const bool is_storage =
      id.Is(Kind::kTuple) && id.size() >= 2 && id[0].Is(Kind::kString) && id[0].AsText() == "storage";
  return is_storage && id[1].Is(Kind::kGlobal) ? std::string(LastPart(id[1].name())) : "persistent id";
}

}  // namespace

std::string TypeName(Value value) {
  switch (value.kind()) {
    case Kind::kNone: return "NoneType";
    case Kind::kGlobal: return NameOfGlobal(value);
    case Kind::kObject: return NameOfObject(value);
    case Kind::kPersistentId: return NameOfPersistent(value);
    default: return std::string(KindName(value.kind()));
  }
}

}  // namespace dcpctl::pickle
