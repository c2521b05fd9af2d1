// Sharing blocks between source and output instead of copying, where the file system can. A region is cloned
// whole or not at all; then its checksum is the one that its sources carry, and its bytes are never read.
#pragma once

#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "engine/range_digest.h"
#include "engine/source_reader.h"
#include "io/file.h"
#include "io/file_cache.h"

namespace dcpctl::engine {

// Whether `region` was cloned into `out`, its output; `digest` is that of the region. With kAlways, a region of 64 KiB
// or more that cannot be cloned is kUnsupported, with the reason.
Result<bool> CloneRegion(const Plan& plan, const Region& region, Reflink mode, io::FileCache& cache,
                         SourceReader& reader, io::WriteFile& out, RangeDigest& digest);

}  // namespace dcpctl::engine
