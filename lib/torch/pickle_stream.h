// Pickles in a file that goes on behind them, so that only reading one tells where it ends.
#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"

namespace dcpctl::torch {

struct StreamedPickle {
  pickle::Document document;  // owns the bytes that it was read from
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Reads the pickle that begins at `offset`. Takes `first_read` bytes at once and more until the pickle ends,
// so that a small one at the front of a large file costs one small read. Errors: those of pickle::ReadPickle.
Result<StreamedPickle> ReadPickleAt(const ByteSource& source, uint64_t offset, uint64_t first_read,
                                    const Limits& limits);

}  // namespace dcpctl::torch
