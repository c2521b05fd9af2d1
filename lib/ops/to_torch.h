// Any readable source -> one torch.save file.
#pragma once

#include <filesystem>

#include "dcpctl/convert.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<ConvertReport> ToTorch(io::FileSystem& files, const std::filesystem::path& source,
                              const std::filesystem::path& target, const ConvertOptions& options);

}  // namespace dcpctl::ops
