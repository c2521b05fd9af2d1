#include "torch/build.h"

#include <vector>

namespace dcpctl::torch {
namespace {

using pickle::Document;
using pickle::Value;

Value MakeTuple(Document& document, DimsView dims) {
  std::vector<Value> items;
  items.reserve(dims.size());
  for (const uint64_t dim : dims) items.push_back(document.Int(static_cast<int64_t>(dim)));
  return document.Tuple(items);
}

}  // namespace

Value MakePersistentId(Document& document, DType dtype, std::string_view key, uint64_t bytes) {
  const std::string_view typed = StorageClass(dtype);
  const Value storage_class =
      typed.empty() ? document.Global("torch.storage", "UntypedStorage") : document.Global("torch", typed);
  const uint64_t items = typed.empty() ? bytes : bytes / ItemBytes(dtype);
  return document.Tuple({document.String("storage"), storage_class, document.String(key), document.String("cpu"),
                         document.Int(static_cast<int64_t>(items))});
}

Value MakeTensor(Document& document, DType dtype, DimsView shape, std::string_view storage_key) {
  const bool typed = !StorageClass(dtype).empty();
  const uint64_t bytes = Numel(shape).value_or(0) * ItemBytes(dtype);
  const Value storage = document.PersistentId(MakePersistentId(document, dtype, storage_key, bytes));
  std::vector<Value> args = {storage,
                             document.Int(0),  // storage offset
                             MakeTuple(document, shape),
                             MakeTuple(document, RowMajorStrides(shape)),
                             document.Bool(false),                                               // requires_grad
                             document.Call(document.Global("collections", "OrderedDict"), {})};  // hooks
  if (!typed) args.push_back(document.Global("torch", Name(dtype)));
  const Value function = document.Global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  return document.Object(pickle::Construct::kReduce, function, document.Tuple(args));
}

}  // namespace dcpctl::torch
