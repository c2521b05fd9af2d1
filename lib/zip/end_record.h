// Where the central directory of an archive lies, from the records at its end.
#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl::zip {

struct EndRecord {
  uint64_t entry_count = 0;
  uint64_t directory_offset = 0;  // absolute
  uint64_t directory_bytes = 0;   // the directory ends before the end records
  uint64_t offset = 0;            // of the first of the end records; they go on to the end of the archive
};

// Looks at the end of [base, base + length) without a comment first, then with one. Uses the zip64 record
// when there is one; it must not contradict the classic one.
Result<EndRecord> ReadEndRecord(const ByteSource& source, uint64_t base, uint64_t length);

}  // namespace dcpctl::zip
