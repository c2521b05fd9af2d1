// Whether the stored bytes are the ones that were written: compares each storage with its recorded CRC-32.
#pragma once

#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/finding.h"
#include "io/file_system.h"

namespace dcpctl::check {

// Reads every surveyed chunk and object storage of the selected entries. payload.crc, payload.unreadable.
Result<void> CheckPayloads(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                           const RunOptions& options, Findings& findings);

}  // namespace dcpctl::check
