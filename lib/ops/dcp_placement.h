// Which data file of a new checkpoint each entry goes into. Pure: works on the catalog alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/mesh.h"
#include "ops/dcp_output.h"

namespace dcpctl::ops {

// What there is to place, by Catalog::entries.
struct Placing {
  const Catalog& catalog;
  std::vector<bool> selected;
  std::vector<bool> made = {};  // has no record of its own; none when empty
};

// Each fills `files` and `items` of the output.
// Every entry whole, in the one file of one rank: what PyTorch's own converter makes.
void PlaceWhole(const Placing& what, DcpOutputOptions& output);
// The chunks as they are, one file for each rank that has any. A rank is told from the name of its files; files
// without such a name count as one rank each. Objects without a record go to the first.
void PlaceChunks(const Placing& what, DcpOutputOptions& output);
// Boxes and objects with the ranks that a layout gives them, one file for each rank that has any.
void PlaceRanks(const RankLayout& layout, DcpOutputOptions& output);
// The records where they are, in the source's own files. What has no record goes into a new file, of a rank after
// the last. kUnsupported when there is such an entry and `output` has DataPolicy::kNone; kCorrupt when a file of the
// source has a name that the result needs.
Result<void> PlaceRecords(const Placing& what, DcpOutputOptions& output);

}  // namespace dcpctl::ops
