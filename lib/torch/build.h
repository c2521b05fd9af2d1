// The counterpart of tensor.h: the graph of a tensor as torch.save would pickle it.
#pragma once

#include <cstdint>
#include <string_view>

#include "dcpctl/box.h"
#include "dcpctl/dtype.h"
#include "dcpctl/pickle.h"

namespace dcpctl::torch {

// ('storage', class, key, 'cpu', items): a storage that holds `bytes`, of the class that PyTorch would name for
// `dtype`. Dtypes without a class have untyped storages, whose items are bytes.
pickle::Value MakePersistentId(pickle::Document& document, DType dtype, std::string_view key, uint64_t bytes);

// A plain, row-major CPU tensor that fills its storage, without gradient or hooks. Calls _rebuild_tensor_v2
// where the dtype has a storage class, otherwise _rebuild_tensor_v3. The shape's element count and bytes must
// fit int64_t.
pickle::Value MakeTensor(pickle::Document& document, DType dtype, DimsView shape, std::string_view storage_key);

}  // namespace dcpctl::torch
