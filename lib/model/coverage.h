// Whether boxes tile a tensor: all inside, none overlapping, nothing left out. Near linear in the number of
// boxes for the layouts that occur; never all pairs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "dcpctl/box.h"

namespace dcpctl {

struct Coverage {
  std::optional<uint64_t> outside;                       // a box that leaves the tensor
  std::optional<std::pair<uint64_t, uint64_t>> overlap;  // two boxes that share elements
  bool undecided = false;                                // too tangled for bounded work, or numel over 64 bits
  uint64_t missing = 0;                                  // elements in no box; not counted after the three above
  Box hole;                                              // one box of them
  [[nodiscard]] bool ok() const { return !outside && !overlap && !undecided && missing == 0; }
};

// `box(i)` for i in [0, count) must stay valid during the call. Empty boxes cover nothing and never overlap.
Coverage CheckCoverage(DimsView shape, uint64_t count, const std::function<BoxView(uint64_t)>& box);

}  // namespace dcpctl
