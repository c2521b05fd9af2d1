// Listing a directory of the kernel's.
#pragma once

#include <filesystem>
#include <vector>

#include "io/file_system.h"
#include "io/system_calls.h"

namespace dcpctl::io {

// See FileSystem::ListDirectory.
Result<std::vector<DirectoryEntry>> ListPosixDirectory(const SystemCalls& calls, const std::filesystem::path& path,
                                                       const ListOptions& options);

}  // namespace dcpctl::io
