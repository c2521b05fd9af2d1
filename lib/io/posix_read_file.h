// ReadFile on a descriptor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/file.h"
#include "io/unique_fd.h"

namespace dcpctl::io {

// kUnsupported when `fd` is not a regular file. `path` is where CheckUnchanged looks for it; `calls` must outlive the
// result.
Result<std::unique_ptr<ReadFile>> NewPosixReadFile(const SystemCalls& calls, UniqueFd fd,
                                                   const std::filesystem::path& path);

}  // namespace dcpctl::io
