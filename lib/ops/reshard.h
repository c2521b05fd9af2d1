// A DCP directory -> a DCP directory for other ranks.
#pragma once

#include <filesystem>

#include "dcpctl/convert.h"
#include "io/file_system.h"
#include "ops/to_dcp.h"

namespace dcpctl::ops {

// Everything up to the first write.
Result<DcpPlan> PlanReshard(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options);

// By this process, or with RunOptions::mpi by it and others.
Result<ConvertReport> Reshard(const std::filesystem::path& source, const std::filesystem::path& target,
                              const ConvertOptions& options);

}  // namespace dcpctl::ops
