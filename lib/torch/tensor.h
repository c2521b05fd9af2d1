// What torch.save's rebuild calls say about a tensor, and where in a file its elements lie. Only plain
// strided tensors and parameters have elements to offer; other kinds are named in the error. Nothing here
// reads a payload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dcpctl/box.h"
#include "dcpctl/catalog.h"
#include "dcpctl/dtype.h"
#include "dcpctl/error.h"
#include "dcpctl/pickle.h"
#include "torch/storages.h"

namespace dcpctl::torch {

// A persistent id: ('storage', class, key, location, items[, view]).
struct StorageRef {
  DType dtype = DType::kUInt8;  // of the storage class; kUInt8 for untyped storages, as PyTorch has it
  bool untyped = false;
  std::string key;
  std::string location;  // "cpu", "cuda:0", ...
  uint64_t items = 0;    // of the class; bytes for untyped storages
  // PyTorch before 0.4 has storages that are views of others: `items` items from `first_item` on of the storage
  // `root_key`, which has `root_items`. Equal to `key` and `items` for all others.
  std::string root_key = {};
  uint64_t root_items = 0;
  uint64_t first_item = 0;
};

struct TensorValue {
  DType dtype = DType::kFloat32;
  std::string storage_key;
  std::string location;
  uint64_t storage_items = 0;  // items * item bytes is the size of the storage
  uint64_t storage_item_bytes = 0;
  uint64_t first_element = 0;  // counts elements of `dtype`, as strides do
  Dims shape;
  Dims strides;
  bool requires_grad = false;
  bool conj = false;  // the storage has the conjugates of the elements
  bool neg = false;   // the storage has the elements negated
};

// A tensor of any kind, also of those that ReadTensor refuses.
[[nodiscard]] bool LooksLikeTensor(pickle::Value value);

// `file` is for messages. kCorrupt also for elements outside the storage; kUnsupported names the kind.
Result<TensorValue> ReadTensor(pickle::Value value, std::string_view file);

// ReadTensor, and refuses what StoredTensor can't say: conjugated and negated tensors.
Result<TensorValue> ReadPlainTensor(pickle::Value value, std::string_view file);

// `id` is what a kPersistentId carries.
Result<StorageRef> ReadPersistentId(pickle::Value id, std::string_view file);

struct LocatedTensor {
  TensorValue value;
  StoredTensor stored;
};

// ReadPlainTensor and LocateStorage.
Result<LocatedTensor> LocateTensor(const Storages& storages, pickle::Value value);

}  // namespace dcpctl::torch
