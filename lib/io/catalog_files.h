// The files of a catalog as a FileCache wants them: as they were when they were surveyed.
#pragma once

#include <vector>

#include "dcpctl/catalog.h"
#include "io/file_cache.h"

namespace dcpctl::io {

inline std::vector<CachedPath> PathsOf(const Catalog& catalog) {
  std::vector<CachedPath> paths;
  for (const SourceFile& file : catalog.files) {
    paths.push_back({.root = catalog.root.string(),
                     .relative = file.path,
                     .known = true,
                     .bytes = file.bytes,
                     .mtime_ns = file.mtime_ns});
  }
  return paths;
}

}  // namespace dcpctl::io
