// Sharing blocks between source and output instead of copying, where the file system can. A region is cloned
// whole or not at all; then its checksum is the one that its sources carry, and its bytes are never read.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "engine/range_digest.h"
#include "engine/source_reader.h"
#include "engine/target.h"
#include "io/file_cache.h"

namespace dcpctl::engine {

struct CloneOutcome {
  std::vector<bool> cloned;  // by region
  uint64_t bytes = 0;
};

// `digest` gives the RangeDigest of a region. A stream gets no clones. With kAlways, a region of 64 KiB or more
// that cannot be cloned is kUnsupported, with the reason.
Result<CloneOutcome> CloneRegions(const Plan& plan, Reflink mode, io::FileCache& cache, SourceReader& reader,
                                  Target& target, const std::function<RangeDigest&(uint32_t)>& digest);

}  // namespace dcpctl::engine
