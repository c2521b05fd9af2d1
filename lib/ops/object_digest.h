// One digest for an object, however it was pickled and wherever its storages lie: see pickle/canonical.h. Of a tensor
// in an object all bytes of its storage count, but not the device that it was on.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/sha256.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "io/file_cache.h"

namespace dcpctl::ops {

// Of the objects of one catalog. May be used by several threads at once.
class ObjectDigests {
 public:
  // `cache` opens the files of the catalog. Stores references.
  ObjectDigests(io::FileCache& cache, const Limits& limits) : cache_(cache), limits_(limits) {}

  // Storages are read from front to back and compared with the checksums that their writer recorded. A value that
  // several entries have is read once. Errors: kIo, kCorrupt, kLimit, kMismatch.
  Result<Sha256Digest> Of(const Object& object);

 private:
  io::FileCache& cache_;
  const Limits& limits_;
  std::mutex mutex_;
  std::unordered_map<const ObjectValue*, Sha256Digest> known_;
};

}  // namespace dcpctl::ops
