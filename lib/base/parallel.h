// Runs independent steps on a few threads.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "dcpctl/error.h"

namespace dcpctl {

// 0 means one per core.
unsigned EffectiveJobs(unsigned jobs);

// Calls fn(0) ... fn(count - 1), each once, on up to `jobs` threads. The first failure stops the rest; of
// the failures seen, the one with the lowest index is returned, kCancelled only if there is no other.
// Exceptions of fn become kInternal.
Result<void> ParallelFor(uint64_t count, unsigned jobs, const std::stop_token& stop,
                         const std::function<Result<void>(uint64_t)>& fn);

}  // namespace dcpctl
