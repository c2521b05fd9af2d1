// Opening a name that an input chose, so that it cannot lead out of the directory it belongs to.
#pragma once

#include <filesystem>
#include <string>

#include "dcpctl/error.h"
#include "io/unique_fd.h"

namespace dcpctl::io {

// Never blocks, also not on a FIFO. The kernel's openat2 follows links that stay below `root`; where that call is
// missing (before Linux 5.6, or filtered in a container) the path is walked part by part and every link refused.
// Errors as for FileSystem::OpenBeneath; the caller still checks that the result is a regular file.
Result<UniqueFd> OpenFdBeneath(const SystemCalls& calls, const std::filesystem::path& root,
                               const std::string& relative);

}  // namespace dcpctl::io
