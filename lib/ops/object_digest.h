// One digest for an object, however it was pickled and wherever its storages lie: see pickle/canonical.h. Of a tensor
// in an object all bytes of its storage count, but not the device that it was on.
#pragma once

#include "base/sha256.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "io/file_cache.h"

namespace dcpctl::ops {

// `cache` opens the files of the object's catalog. Storages are read from front to back and compared with the
// checksums that their writer recorded. Errors: kIo, kCorrupt, kLimit, kMismatch.
Result<Sha256Digest> DigestObject(io::FileCache& cache, const Object& object, const Limits& limits);

}  // namespace dcpctl::ops
