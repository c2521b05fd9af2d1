// Any readable source -> a DCP directory.
#pragma once

#include <filesystem>

#include "dcpctl/convert.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<ConvertReport> ToDcp(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options);

}  // namespace dcpctl::ops
