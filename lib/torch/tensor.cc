#include "torch/tensor.h"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::torch {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr std::string_view kUtils = "torch._utils";
// More dimensions than PyTorch has anywhere; see Limits::rank.
constexpr size_t kMaxRank = Limits{}.rank;

// PyTorch writes no such tensor; what the operations would do to it is not known.
constexpr std::string_view kChanged = "changed by its pickle after it is made";

// In a persistent id, of the stream form only: None, or of which part of the storage it is a view.
constexpr size_t kViewItem = 5;

// Messages share the place: the opcode that made the tensor.
struct Where {
  std::string_view file;
  uint64_t offset;

  tl::unexpected<Error> Fail(ErrorKind kind, std::string message) const {
    Place place{std::string(file), offset != 0 ? std::optional(offset) : std::nullopt};
    return dcpctl::Fail(std::move(place), kind, std::move(message));
  }
};

// A function and its arguments: what REDUCE has, and what _rebuild_from_type_v2 carries.
struct Call {
  Value function;
  Value args;
};

std::optional<Call> AsCall(Value value) {
  if (!value.Is(Kind::kObject) || value.construct() != pickle::Construct::kReduce) return std::nullopt;
  if (!value.callable().Is(Kind::kGlobal) || !value.args().Is(Kind::kTuple)) return std::nullopt;
  return Call{value.callable(), value.args()};
}

bool IsRebuildFromType(Value function) {
  return function.IsGlobal("torch._tensor", "_rebuild_from_type_v2") ||
         function.IsGlobal("torch._tensor", "_rebuild_from_type") ||
         function.IsGlobal("torch.tensor", "_rebuild_from_type");  // before 1.9
}

bool IsPlainClass(Value type) {
  return type.IsGlobal("torch", "Tensor") || type.IsGlobal("torch._tensor", "Tensor") ||
         type.IsGlobal("torch.nn.parameter", "Parameter");
}

// What a call of torch._utils makes, if that has no elements of its own to read. Empty for others.
std::string_view OtherKind(std::string_view function) {
  struct Row {
    std::string_view function;
    std::string_view kind;
  };
  static constexpr std::array kRows = {
      Row{"_rebuild_sparse_tensor", "a sparse tensor"},
      Row{"_rebuild_sparse_csr_tensor", "a sparse tensor"},
      Row{"_rebuild_qtensor", "a quantized tensor"},
      Row{"_rebuild_nested_tensor", "a nested tensor"},
      Row{"_rebuild_meta_tensor_no_storage", "a meta tensor, which has no data"},
      Row{"_rebuild_wrapper_subclass", "a tensor subclass without data of its own"},
      Row{"_rebuild_device_tensor_from_numpy", "a device tensor saved as a numpy array"},
      Row{"_rebuild_device_tensor_from_cpu_tensor", "a device tensor saved as a CPU tensor"},
      Row{"_rebuild_xla_tensor", "a device tensor saved as a numpy array"},
  };
  for (const Row& row : kRows) {
    if (row.function == function) return row.kind;
  }
  return {};
}

std::string FullName(Value global) { return std::string(global.module()) + "." + std::string(global.name()); }

tl::unexpected<Error> RefuseKind(const Where& where, std::string_view kind) {
  return where.Fail(ErrorKind::kUnsupported, "tensor is " + std::string(kind) + ", expected a plain one");
}

// The item of a tuple, if it is there and of that kind.
Result<Value> Argument(const Where& where, Value args, size_t i, Kind kind, std::string_view what) {
  if (i >= args.size()) {
    return where.Fail(ErrorKind::kCorrupt, "tensor has " + std::to_string(args.size()) + " arguments, expected " +
                                               std::string(what) + " as number " + std::to_string(i));
  }
  if (args[i].Is(kind)) return args[i];
  return where.Fail(ErrorKind::kCorrupt, std::string(what) + " of a tensor is of type " + pickle::TypeName(args[i]) +
                                             " (argument " + std::to_string(i) + ")");
}

Result<uint64_t> NotNegative(const Where& where, Value value, std::string_view what) {
  if (!value.Is(Kind::kInt)) {
    return where.Fail(ErrorKind::kCorrupt, std::string(what) + " is of type " + pickle::TypeName(value) +
                                               " or too large, expected a 64-bit int");
  }
  if (value.AsInt() < 0) {
    return where.Fail(ErrorKind::kCorrupt,
                      std::string(what) + " is " + std::to_string(value.AsInt()) + ", expected 0 or more");
  }
  return static_cast<uint64_t>(value.AsInt());
}

// A tuple of sizes or strides; torch.Size((2, 3)) counts as its argument.
Result<Dims> ReadDims(const Where& where, Value args, size_t i, std::string_view what) {
  if (i < args.size() && args[i].IsCallOf("torch", "Size") && args[i].args().Is(Kind::kTuple) &&
      args[i].args().size() == 1) {
    return ReadDims(where, args[i].args(), 0, what);
  }
  DCPCTL_ASSIGN(const Value tuple, Argument(where, args, i, Kind::kTuple, what));
  if (tuple.size() > kMaxRank) {
    return where.Fail(ErrorKind::kLimit, "tensor has " + std::to_string(tuple.size()) +
                                             " dimensions, expected at most " + std::to_string(kMaxRank));
  }
  Dims dims;
  for (size_t d = 0; d < tuple.size(); ++d) {
    DCPCTL_ASSIGN(const uint64_t dim,
                  NotNegative(where, tuple[d], std::string(what) + " " + std::to_string(d) + " of a tensor"));
    dims.push_back(dim);
  }
  return dims;
}

// Number of elements from the storage's begin to behind the last one that the tensor uses; nothing when it
// does not fit 64 bits.
std::optional<uint64_t> ElementsNeeded(const TensorValue& tensor) {
  if (IsEmpty({tensor.shape, tensor.shape})) return 0;
  std::optional<uint64_t> last = tensor.first_element;
  for (size_t d = 0; d < tensor.shape.size() && last; ++d) {
    const auto step = CheckedMul(tensor.shape[d] - 1, tensor.strides[d]);
    last = step ? CheckedAdd(*last, *step) : std::nullopt;
  }
  return last ? CheckedAdd(*last, 1) : std::nullopt;
}

Result<void> CheckInsideStorage(const Where& where, const TensorValue& tensor) {
  const auto have = CheckedMul(tensor.storage_items, tensor.storage_item_bytes);
  const auto elements = ElementsNeeded(tensor);
  const auto need = elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)) : std::nullopt;
  if (!have) {
    return where.Fail(ErrorKind::kCorrupt, "storage " + Quote(tensor.storage_key) + " has " +
                                               std::to_string(tensor.storage_items) + " items of " +
                                               std::to_string(tensor.storage_item_bytes) +
                                               " bytes, expected a size that fits 64 bits");
  }
  if (need && *need <= *have && Numel(tensor.shape)) return {};
  return where.Fail(ErrorKind::kCorrupt, "tensor of shape " + ToString(DimsView(tensor.shape)) + " with strides " +
                                             ToString(DimsView(tensor.strides)) + " from element " +
                                             std::to_string(tensor.first_element) + " needs " +
                                             (need ? std::to_string(*need) : "more than 2^64") + " bytes of storage " +
                                             Quote(tensor.storage_key) + ", which has " + std::to_string(*have));
}

// {"conj": True, "neg": True}, either of them or none. Other keys belong to custom back ends.
Result<void> ReadMetadata(const Where& where, Value metadata, TensorValue& tensor) {
  if (metadata.Is(Kind::kNone)) return {};
  if (!metadata.Is(Kind::kDict)) {
    return where.Fail(ErrorKind::kCorrupt,
                      "metadata of a tensor is of type " + pickle::TypeName(metadata) + ", expected a dict");
  }
  const auto is_set = [&](std::string_view key) {
    const std::optional<Value> flag = metadata.Find(key);
    return flag && !(flag->Is(Kind::kBool) && !flag->AsBool());
  };
  tensor.conj = is_set("conj");
  tensor.neg = is_set("neg");
  return {};
}

// The name of module torch that says a v3 tensor's type.
Result<DType> ReadDType(const Where& where, Value args, size_t i) {
  DCPCTL_ASSIGN(const Value global, Argument(where, args, i, Kind::kGlobal, "dtype"));
  const std::optional<DType> dtype = global.module() == "torch" ? DTypeFromName(global.name()) : std::nullopt;
  if (dtype) return *dtype;
  return where.Fail(ErrorKind::kUnsupported, "tensor is of dtype " + Quote(FullName(global)) + ", which is not known");
}

// Arguments common to _rebuild_tensor and its successors: storage, offset, size, stride.
Result<TensorValue> ReadStrided(const Where& where, Value args, bool has_dtype) {
  DCPCTL_ASSIGN(const Value id, Argument(where, args, 0, Kind::kPersistentId, "storage"));
  DCPCTL_ASSIGN(const StorageRef storage, ReadPersistentId(id.persistent_id(), where.file));
  TensorValue tensor;
  tensor.dtype = storage.dtype;
  if (has_dtype) {
    DCPCTL_ASSIGN(tensor.dtype, ReadDType(where, args, 6));
  }
  tensor.storage_key = storage.key;
  tensor.location = storage.location;
  tensor.storage_items = storage.items;
  tensor.storage_item_bytes = ItemBytes(storage.dtype);
  DCPCTL_ASSIGN(const Value offset, Argument(where, args, 1, Kind::kInt, "storage offset"));
  DCPCTL_ASSIGN(tensor.first_element, NotNegative(where, offset, "storage offset of a tensor"));
  DCPCTL_ASSIGN(tensor.shape, ReadDims(where, args, 2, "size"));
  DCPCTL_ASSIGN(tensor.strides, ReadDims(where, args, 3, "stride"));
  if (tensor.shape.size() != tensor.strides.size()) {
    return where.Fail(ErrorKind::kCorrupt, "tensor has " + std::to_string(tensor.strides.size()) +
                                               " strides, expected " + std::to_string(tensor.shape.size()) +
                                               " as it has sizes");
  }
  if (tensor.location == "meta") return RefuseKind(where, "a meta tensor, which has no data");
  DCPCTL_TRY(CheckInsideStorage(where, tensor));
  return tensor;
}

// v2 adds requires_grad, hooks and metadata; v3 a dtype before the metadata.
Result<TensorValue> ReadVersioned(const Where& where, Value args, bool has_dtype) {
  DCPCTL_ASSIGN(TensorValue tensor, ReadStrided(where, args, has_dtype));
  DCPCTL_ASSIGN(const Value requires_grad, Argument(where, args, 4, Kind::kBool, "requires_grad"));
  tensor.requires_grad = requires_grad.AsBool();
  const size_t metadata = has_dtype ? 7 : 6;
  if (metadata < args.size()) DCPCTL_TRY(ReadMetadata(where, args[metadata], tensor));
  return tensor;
}

// Calls that make a tensor from a storage, and the names of those that make other kinds.
Result<TensorValue> ReadStridedCall(const Where& where, const Call& call) {
  const Value function = call.function;
  if (function.IsGlobal(kUtils, "_rebuild_tensor_v2")) return ReadVersioned(where, call.args, false);
  if (function.IsGlobal(kUtils, "_rebuild_tensor_v3")) return ReadVersioned(where, call.args, true);
  if (function.IsGlobal(kUtils, "_rebuild_tensor")) return ReadStrided(where, call.args, false);
  if (const std::string_view kind = OtherKind(function.name()); !kind.empty()) return RefuseKind(where, kind);
  return where.Fail(ErrorKind::kUnsupported, "value is made by " + Quote(FullName(function)) + ", expected a tensor");
}

// (function, class, arguments, state): a subclass, or a plain tensor that has Python attributes.
Result<TensorValue> ReadFromType(const Where& where, Value args) {
  DCPCTL_ASSIGN(const Value function, Argument(where, args, 0, Kind::kGlobal, "function"));
  DCPCTL_ASSIGN(const Value type, Argument(where, args, 1, Kind::kGlobal, "class"));
  DCPCTL_ASSIGN(const Value inner, Argument(where, args, 2, Kind::kTuple, "arguments"));
  if (!IsPlainClass(type)) return RefuseKind(where, "an instance of " + FullName(type));
  return ReadStridedCall(where, {function, inner});
}

Result<TensorValue> ReadDataOfParameter(Value data, std::string_view file) {
  const Where where{file, data.offset()};
  const std::optional<Call> call = AsCall(data);
  if (!call) {
    return where.Fail(ErrorKind::kCorrupt,
                      "data of a parameter is of type " + pickle::TypeName(data) + ", expected a tensor");
  }
  if (data.operation_count() != 0) return RefuseKind(where, kChanged);
  return IsRebuildFromType(call->function) ? ReadFromType(where, call->args) : ReadStridedCall(where, *call);
}

// (tensor, requires_grad, hooks[, state]).
Result<TensorValue> ReadParameter(const Where& where, Value args) {
  DCPCTL_ASSIGN(const Value data, Argument(where, args, 0, Kind::kObject, "data"));
  DCPCTL_ASSIGN(TensorValue tensor, ReadDataOfParameter(data, where.file));
  DCPCTL_ASSIGN(const Value requires_grad, Argument(where, args, 1, Kind::kBool, "requires_grad"));
  tensor.requires_grad = requires_grad.AsBool();
  return tensor;
}

// Turns `storage` into a view of itself: (key, first item, items), or None.
Result<void> ReadView(const Where& where, Value view, StorageRef& storage) {
  if (view.Is(Kind::kNone)) return {};
  if (!view.Is(Kind::kTuple) || view.size() != 3 || !view[0].Is(Kind::kString)) {
    return where.Fail(ErrorKind::kCorrupt, "view of storage " + Quote(storage.root_key) + " is of type " +
                                               pickle::TypeName(view) + ", expected None or (key, offset, size)");
  }
  storage.key = std::string(view[0].AsText());
  DCPCTL_ASSIGN(storage.first_item, NotNegative(where, view[1], "offset of storage view " + Quote(storage.key)));
  DCPCTL_ASSIGN(storage.items, NotNegative(where, view[2], "size of storage view " + Quote(storage.key)));
  if (InRange(storage.first_item, storage.items, storage.root_items)) return {};
  return where.Fail(ErrorKind::kCorrupt,
                    "storage view " + Quote(storage.key) + " has " + std::to_string(storage.items) + " items from " +
                        std::to_string(storage.first_item) + " on, expected at most the " +
                        std::to_string(storage.root_items) + " of storage " + Quote(storage.root_key));
}

bool IsParameterCall(Value function) {
  return function.IsGlobal(kUtils, "_rebuild_parameter") || function.IsGlobal(kUtils, "_rebuild_parameter_with_state");
}

}  // namespace

bool LooksLikeTensor(Value value) {
  const std::optional<Call> call = AsCall(value);
  if (!call) return false;
  if (IsRebuildFromType(call->function)) return true;
  if (call->function.module() != kUtils) return false;
  const std::string_view name = call->function.name();
  return name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3" ||
         IsParameterCall(call->function) || !OtherKind(name).empty();
}

Result<TensorValue> ReadTensor(Value value, std::string_view file) {
  const Where where{file, value.offset()};
  const std::optional<Call> call = AsCall(value);
  if (!call) {
    return where.Fail(ErrorKind::kUnsupported, "value is of type " + pickle::TypeName(value) + ", expected a tensor");
  }
  if (value.operation_count() != 0) return RefuseKind(where, kChanged);
  if (IsParameterCall(call->function)) return ReadParameter(where, call->args);
  return IsRebuildFromType(call->function) ? ReadFromType(where, call->args) : ReadStridedCall(where, *call);
}

Result<StorageRef> ReadPersistentId(Value id, std::string_view file) {
  const Where where{file, id.offset()};
  if (!id.Is(Kind::kTuple) || id.size() < 5 || !id[0].Is(Kind::kString) || id[0].AsText() != "storage") {
    return where.Fail(ErrorKind::kCorrupt, "persistent id is of type " + pickle::TypeName(id) +
                                               ", expected ('storage', class, key, location, size)");
  }
  if (!id[1].Is(Kind::kGlobal) || !id[2].Is(Kind::kString) || !id[3].Is(Kind::kString)) {
    return where.Fail(ErrorKind::kCorrupt, "storage has a class of type " + pickle::TypeName(id[1]) +
                                               ", a key of type " + pickle::TypeName(id[2]) +
                                               " and a location of type " + pickle::TypeName(id[3]) +
                                               ", expected a class and two strings");
  }
  const Where named{file, id[1].offset()};
  StorageRef storage{.key = std::string(id[2].AsText()), .location = std::string(id[3].AsText())};
  // PyTorch goes by the class's name and ignores its module: torch, torch.cuda, torch.storage, ...
  const std::string_view name = id[1].name();
  storage.untyped = name == "UntypedStorage" || name == "_UntypedStorage";  // the latter in 1.12
  const std::optional<DType> dtype = storage.untyped ? DType::kUInt8 : DTypeFromStorageClass(name);
  if (!dtype) {
    return named.Fail(ErrorKind::kUnsupported, "storage " + Quote(storage.key) + " is of class " +
                                                   Quote(FullName(id[1])) + ", which is not known");
  }
  storage.dtype = *dtype;
  DCPCTL_ASSIGN(storage.items, NotNegative(named, id[4], "size of storage " + Quote(storage.key)));
  storage.root_key = storage.key;
  storage.root_items = storage.items;
  if (id.size() > kViewItem) DCPCTL_TRY(ReadView(named, id[kViewItem], storage));
  return storage;
}

Result<TensorValue> ReadPlainTensor(Value value, std::string_view file) {
  DCPCTL_ASSIGN(TensorValue tensor, ReadTensor(value, file));
  if (tensor.conj) return RefuseKind({file, value.offset()}, "a lazily conjugated view");
  if (tensor.neg) return RefuseKind({file, value.offset()}, "a lazily negated view");
  return tensor;
}

Result<LocatedTensor> LocateTensor(const Storages& storages, Value value) {
  LocatedTensor located;
  DCPCTL_ASSIGN(located.value, ReadPlainTensor(value, storages.file()));
  // ReadTensor checked that the product fits.
  const uint64_t bytes = located.value.storage_items * located.value.storage_item_bytes;
  DCPCTL_ASSIGN(located.stored, LocateStorage(storages, located.value.storage_key, bytes));
  located.stored.first_element = located.value.first_element;
  return located;
}

}  // namespace dcpctl::torch
