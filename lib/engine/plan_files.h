// The source files of a plan, for a cache that opens them and sees to it that they are what was planned with.
#pragma once

#include <vector>

#include "dcpctl/plan.h"
#include "io/file_cache.h"

namespace dcpctl::engine {

inline std::vector<io::CachedPath> PathsOf(const Plan& plan) {
  std::vector<io::CachedPath> paths;
  for (const PlanFile& file : plan.files) {
    paths.push_back(
        {.root = file.root, .relative = file.relative, .known = true, .bytes = file.bytes, .mtime_ns = file.mtime_ns});
  }
  return paths;
}

}  // namespace dcpctl::engine
