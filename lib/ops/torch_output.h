// A torch.save file as a plan: the nested state dict with its tensors and objects, laid out byte for byte.
// Pure: reads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/plan.h"

namespace dcpctl::ops {

struct TorchOutputOptions {
  std::vector<bool> selected;         // by Catalog::entries
  std::vector<KeyPath> paths = {};    // of the selected entries, in order
  std::vector<KeyPath> removed = {};  // paths of the others
  bool flat = false;
  bool int_keys = false;
};

struct TorchOutput {
  Plan plan;
  uint64_t removed_positions = 0;  // list positions that became None
};

// `path` names the output. Errors: kMismatch when two entries want one place, kLimit.
Result<TorchOutput> PlanTorchOutput(const Catalog& catalog, const std::string& path, TorchOutputOptions options);

}  // namespace dcpctl::ops
