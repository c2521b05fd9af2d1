// Compare() of compare.h on a file system of the caller's choice.
#pragma once

#include <filesystem>

#include "dcpctl/compare.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<CompareReport> Compare(io::FileSystem& files, const std::filesystem::path& a, const std::filesystem::path& b,
                              const CompareOptions& options);

}  // namespace dcpctl::ops
