// Reads zip archives that lie in a range of a ByteSource: a whole file, or one item of a data file. Central
// directory, zip64, stored and deflated records; no encryption, no archives of several disks. All offsets are
// absolute in the source, which is also what messages show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"

namespace dcpctl::zip {

// One record, as the central directory describes it.
struct Entry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;  // kStored and kDeflated can be read; others are listed only
  uint32_t crc = 0;
  uint64_t compressed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t header_offset = 0;
  uint64_t boundary = 0;  // where the next record or the directory begins; the record ends at or before it
};

struct Directory {
  uint64_t base = 0;  // the archive is [base, base + length)
  uint64_t length = 0;
  uint64_t directory_offset = 0;
  uint64_t directory_bytes = 0;
  uint64_t end_offset = 0;        // where the end records begin; they go on to the end of the archive
  std::vector<Entry> entries;     // in the order of the directory
  std::vector<uint32_t> by_name;  // positions in `entries`, sorted by name

  // Null when there is no such record.
  [[nodiscard]] const Entry* Find(std::string_view name) const;
};

// Checks what can be checked without local headers: counts, sizes, names (not empty, no NUL, none twice), and
// that records lie before the directory without overlapping. Errors: kCorrupt, also for what no reader of PyTorch takes
// (encrypted records, several disks), kLimit, kIo.
Result<Directory> ReadDirectory(const ByteSource& source, uint64_t base, uint64_t length, const Limits& limits);

// Offset of the record's data, from its local header: the length of the extra field there differs from the
// central one, since PyTorch pads it to align the data. Checks that the header agrees with `entry`.
Result<uint64_t> FindPayload(const ByteSource& source, const Entry& entry);

// The decoded bytes. A CRC that the directory records must match; 0 on a record that is not empty means that
// its writer computed none. kLimit above `max_bytes`.
Result<std::vector<std::byte>> ReadRecord(const ByteSource& source, const Entry& entry, uint64_t max_bytes);

// `record "archive/data.pkl"`, for messages.
std::string Describe(const Entry& entry);

}  // namespace dcpctl::zip
