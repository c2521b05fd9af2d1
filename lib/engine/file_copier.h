// Outputs that are source files as they are: shared blocks where the file system has them, plain copies
// elsewhere, or second names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>

#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "dcpctl/observer.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "io/file_system.h"

namespace dcpctl::engine {

struct CopyInput {
  const Plan& plan;
  io::FileSystem& files;
  const std::filesystem::path& directory;  // where the copies go; the folders in their names must be there
  unsigned jobs = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  Reflink reflink = Reflink::kAuto;
  std::stop_token stop = {};
  Observer* observer = nullptr;
};

// Makes all of Plan::copies; each is synced. Errors: kUnsupported for a link that cannot be made and a clone
// that must and cannot, kMismatch for a source that changed, kIo, kCancelled.
Result<RunOutcome> CopyFiles(const CopyInput& input);

}  // namespace dcpctl::engine
