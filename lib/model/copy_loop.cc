#include "model/copy_loop.h"

#include <algorithm>

namespace dcpctl {

uint64_t CopyLoop::SourceSpan() const {
  uint64_t span = 1;
  for (const Level& level : levels) span += (level.count - 1) * level.from_step;
  return span;
}

uint64_t CopyLoop::Elements() const {
  uint64_t elements = 1;
  for (const Level& level : levels) elements *= level.count;
  return elements;
}

CopyLoop MakeCopyLoop(DimsView sizes, uint64_t from, DimsView from_strides, uint64_t to, DimsView to_strides) {
  CopyLoop loop{.from = from, .to = to, .levels = {}};
  std::vector<CopyLoop::Level> levels;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) levels.push_back({.count = sizes[d], .from_step = from_strides[d], .to_step = to_strides[d]});
  }
  std::stable_sort(levels.begin(), levels.end(),
                   [](const auto& a, const auto& b) { return a.from_step > b.from_step; });
  for (const CopyLoop::Level& level : levels) {
    if (!loop.levels.empty()) {
      CopyLoop::Level& outer = loop.levels.back();
      if (outer.from_step == level.count * level.from_step && outer.to_step == level.count * level.to_step) {
        outer = {.count = outer.count * level.count, .from_step = level.from_step, .to_step = level.to_step};
        continue;
      }
    }
    loop.levels.push_back(level);
  }
  return loop;
}

}  // namespace dcpctl
