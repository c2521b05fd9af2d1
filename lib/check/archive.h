// One zip archive, in full: whether every local header and descriptor agrees with the directory, and whether anything
// lies between the records. Reads headers, and what is between records.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_source.h"
#include "dcpctl/finding.h"
#include "zip/read.h"

namespace dcpctl::check {

// Where the data of a record is, for who reads it.
struct ArchiveRecord {
  uint32_t entry = 0;   // in the directory
  uint64_t offset = 0;  // of the data as it is stored
};

struct ArchiveCheck {
  std::vector<ArchiveRecord> records;  // those whose headers are right, by offset
  uint64_t padding_bytes = 0;          // zeros between records
  uint64_t stray_bytes = 0;            // anything else between them
  Findings findings;                   // without file and key
};

// zip.header-differs, zip.stray-bytes, file.unreadable. What the source does not have any more (an EdgeSource) is
// not looked at.
ArchiveCheck CheckArchive(const ByteSource& source, const zip::Directory& directory);

// Reads every record that is no storage and compares it with its CRC-32: payload.crc, payload.unreadable. Returns the
// storages, and what has more than 1 MiB.
std::vector<ArchiveRecord> CheckSmallRecords(const ByteSource& source, const zip::Directory& directory,
                                             const std::vector<ArchiveRecord>& records, Findings& findings);

}  // namespace dcpctl::check
