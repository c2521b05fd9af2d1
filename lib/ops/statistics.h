// Statistics of tensors, read part by part.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/stats.h"
#include "io/file_system.h"

namespace dcpctl::ops {

struct ScannedTensor {
  TensorStats stats;
  uint64_t elements = 0;
  // The first elements, in row-major order, that are NaN or infinite, if there are any.
  uint64_t first_nan = 0;
  uint64_t first_inf = 0;
};

struct ScannedTensors {
  std::vector<std::optional<ScannedTensor>> tensors;  // by Catalog::tensors
  // Numbers of tensors that are of real numbers, of types that the library behind the plug-in does not have.
  std::vector<uint32_t> unknown;
  std::vector<std::optional<Error>> errors;  // by Catalog::tensors: why it could not be read
};

// Of the selected tensors that are of real numbers. The catalog is surveyed in depth, and what is selected is not
// damaged as far as that can tell. `purpose` needs the tensor plug-in: "--stats". Errors: kUnsupported without it,
// kMismatch when a source changed, kCancelled, kLimit.
Result<ScannedTensors> ScanTensors(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                                   const RunOptions& options, std::string_view purpose);

}  // namespace dcpctl::ops
