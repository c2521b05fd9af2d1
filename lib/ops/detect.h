// Identify() of survey.h on a file system of the caller's choice. Reads a few bytes of a file, or the names in a
// folder.
#pragma once

#include <filesystem>

#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<Identity> Identify(io::FileSystem& files, const std::filesystem::path& path);

}  // namespace dcpctl::ops
