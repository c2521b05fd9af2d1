// Making the lost metadata of a DCP checkpoint anew, from another checkpoint that the same program wrote.
#pragma once

#include <cstdint>
#include <filesystem>

#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "dcpctl/finding.h"

namespace dcpctl {

struct RepairOptions {
  std::filesystem::path output = {};  // empty: `.metadata` in the checkpoint
  RunOptions run = {};                // of these `jobs`, `dry_run`, `stop`, `limits` and `observer`
};

struct RepairReport {
  std::filesystem::path output;
  bool fits = false;     // all records are as the other checkpoint has them
  bool written = false;  // false too after a dry run
  uint64_t tensors = 0;
  uint64_t objects = 0;
  uint64_t files = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of the metadata
  Findings findings;   // of severity kError: what does not fit
};

// `checkpoint` has the data files and no metadata; `like` has metadata that names the same data files, of the same
// entries in the same order. Every record is opened, and has to be a tensor of the dtype and shape that the other has
// there, or an object. Never writes over a file. What does not fit is a finding, and then nothing is written. Errors:
// kNotFound, kExists, kIo, kUnsupported (`like` has compressed records, whose ends cannot be found), kCancelled.
[[nodiscard]] Result<RepairReport> Repair(const std::filesystem::path& checkpoint, const std::filesystem::path& like,
                                          const RepairOptions& options = {});

}  // namespace dcpctl
