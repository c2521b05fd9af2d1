// Regions that are columns of the same rows: what each of several outputs gets of a tensor that is cut along a later
// dimension than its chunks are. Filled one after the other, each would read those chunks all over again; tile by tile
// side by side they read them once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dcpctl/plan.h"

namespace dcpctl {

struct Siblings {
  std::vector<uint32_t> regions;  // each of another output, in the order of those
  size_t cut = 0;                 // they have the dimensions before this one in common, which count their rows
  uint64_t row_bytes = 0;         // of one row: what all of them take or what its source holds, whichever is more
};

// Outputs this close to each other may have siblings: so many are open at a time.
inline constexpr uint32_t kSiblingOutputs = 16;

// In time that is linear in the plan, but for sorting. A region is in one group at most.
[[nodiscard]] std::vector<Siblings> FindSiblings(const Plan& plan);

// Bytes of one row of a region: a step along dimension cut - 1.
[[nodiscard]] uint64_t RowBytes(const Plan& plan, const Region& region, size_t cut);

}  // namespace dcpctl
