// Whether the stored bytes are the ones that were written: compares each storage with its recorded CRC-32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/finding.h"
#include "io/file_system.h"

namespace dcpctl::check {

// A record of an archive that may be no storage of the catalog.
struct LooseRecord {
  uint32_t file = 0;
  int64_t entry = -1;  // whose archive it is in, by Catalog::entries; -1: of no one
  StoredTensor stored;
};

struct ChecksumTotals {
  uint64_t records = 0;  // each storage once, however many entries share it
  uint64_t bytes = 0;    // read for them
  uint64_t unknown = 0;  // of the records, those whose writer computed no checksum
};

// Reads every surveyed chunk and object storage of the selected entries, each once, and those of `loose` that are none
// of them. Large ones are read in pieces by several threads. payload.crc, payload.unreadable, one for each entry that
// is hit. Errors: kMismatch when a file changed, kCancelled.
Result<ChecksumTotals> CheckPayloads(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                                     const RunOptions& options, Findings& findings,
                                     std::span<const LooseRecord> loose = {});

}  // namespace dcpctl::check
