// A DCP directory as a plan: which box of which tensor goes into which data file, laid out byte for byte.
// Pure: reads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dcp/compat.h"
#include "dcpctl/catalog.h"
#include "dcpctl/plan.h"

namespace dcpctl::ops {

// An entry, or a box of it, in a data file.
struct DcpItem {
  uint32_t entry = 0;  // into Catalog::entries
  uint32_t file = 0;   // into DcpOutputOptions::files
  Box box;             // of a tensor; may be empty
};

struct DcpOutputOptions {
  std::vector<KeyPath> paths;      // new path of each entry that has an item, by Catalog::entries
  std::vector<std::string> files;  // names of data files, relative to the directory
  std::vector<DcpItem>
      items;  // those of one entry in the order of its chunks; a file holds objects, then tensors, in this order
  bool nested = true;
  dcp::Compat compat;
};

// Outputs of the plan are the data files, named by `files`, and last `.metadata`. Errors: kMismatch for two entries of
// one key, kLimit.
Result<Plan> PlanDcpOutput(const Catalog& catalog, const DcpOutputOptions& options);

}  // namespace dcpctl::ops
