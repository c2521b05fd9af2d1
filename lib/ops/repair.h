// Repair() of repair.h on a file system of the caller's choice.
#pragma once

#include <filesystem>

#include "dcpctl/repair.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<RepairReport> Repair(io::FileSystem& files, const std::filesystem::path& checkpoint,
                            const std::filesystem::path& like, const RepairOptions& options);

}  // namespace dcpctl::ops
