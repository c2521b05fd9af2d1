// The records of a data file without its metadata: each is a whole torch.save archive, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "dcpctl/inspect.h"
#include "dcpctl/limits.h"

namespace dcpctl::ops {

struct DataRecords {
  std::vector<FoundRecord> records;  // by place
  uint64_t other_bytes = 0;          // that belong to none and are not padding
};

// Looks from the back, which reads headers only; where a file was cut off, from the front, which reads all of it.
// Errors: kIo.
Result<DataRecords> ReadDataRecords(const ByteSource& file, uint32_t index, const Limits& limits);

}  // namespace dcpctl::ops
