// Where one record of an archive lies in full, and whether all that describes it agrees: the local header, the
// directory, and the data descriptor that may follow the data. Readers need less; this is for who checks.
#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "zip/read.h"

namespace dcpctl::zip {

struct RecordSpan {
  uint64_t payload = 0;  // absolute, of the data as it is stored
  uint64_t end = 0;      // of the data or, where there is one, of the descriptor
};

// Reads headers only. Errors: those of FindPayload; kCorrupt for a CRC-32 or size in the local header
// or the descriptor that contradicts the directory.
Result<RecordSpan> FindSpan(const ByteSource& source, const Entry& entry);

}  // namespace dcpctl::zip
