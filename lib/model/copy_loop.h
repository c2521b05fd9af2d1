// The walk that copies a box from one strided layout to another: dimensions that are contiguous in both are
// merged, so that a row cut becomes one run and a column cut one run a row. Pure arithmetic, in elements.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/box.h"

namespace dcpctl {

// Dimensions from the slowest to the fastest in the order of the walk. Without dimensions: one element.
struct CopyLoop {
  struct Level {
    uint64_t count;
    uint64_t from_step;
    uint64_t to_step;
  };
  uint64_t from = 0;  // element number of the first element in the source's storage
  uint64_t to = 0;    // and in the target
  std::vector<Level> levels;

  // One run of memory on both sides.
  [[nodiscard]] bool IsOneRun() const {
    return levels.empty() || (levels.size() == 1 && levels[0].from_step == 1 && levels[0].to_step == 1);
  }
  // Elements between the first and the last one that the source is read at, both counted.
  [[nodiscard]] uint64_t SourceSpan() const;
  [[nodiscard]] uint64_t Elements() const;
};

// Walks a box of `sizes` in the order of the source's memory. No size may be zero.
CopyLoop MakeCopyLoop(DimsView sizes, uint64_t from, DimsView from_strides, uint64_t to, DimsView to_strides);

}  // namespace dcpctl
