// ScratchFile on a descriptor without a name.
#pragma once

#include <filesystem>
#include <memory>

#include "io/file.h"
#include "io/system_calls.h"

namespace dcpctl::io {

// O_TMPFILE where the file system has it, else a file that is unlinked at once. `calls` must outlive the result.
Result<std::unique_ptr<ScratchFile>> NewPosixScratchFile(const SystemCalls& calls,
                                                         const std::filesystem::path& directory);

}  // namespace dcpctl::io
