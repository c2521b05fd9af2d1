// What every byte of the data files is there for: a record of the metadata, padding, or nothing that is known.
#pragma once

#include <cstdint>
#include <span>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/finding.h"
#include "io/file_system.h"

namespace dcpctl::check {

// Bytes of a file of a catalog.
struct FileRange {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// The three sum up to the size of the data files that are there.
struct ByteAccount {
  uint64_t used = 0;
  uint64_t padding = 0;  // zeros that belong to no record
  uint64_t orphan = 0;   // whole files and ranges that nothing refers to
};

// Reads what lies between records. dcp.orphan-archive, dcp.stray-bytes. `spare`: ranges that count as used beside the
// records of the catalog's entries. Errors: kMismatch when a file changed, kCancelled.
Result<ByteAccount> AccountForBytes(io::FileSystem& files, const Catalog& catalog, std::span<const FileRange> spare,
                                    const RunOptions& options, Findings& findings);

// Whole archives in a range, for who has no metadata: how many, and how many bytes belong to none and are not zero.
struct ArchiveCount {
  uint64_t archives = 0;
  uint64_t archive_bytes = 0;
  uint64_t other_bytes = 0;
};
Result<ArchiveCount> CountArchives(const ByteSource& source, uint64_t begin, uint64_t end);

}  // namespace dcpctl::check
