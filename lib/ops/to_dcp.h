// Any readable source -> a DCP directory.
#pragma once

#include <filesystem>
#include <optional>

#include "check/preflight.h"
#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "io/file_system.h"
#include "ops/write_compressed.h"

namespace dcpctl::ops {

struct DcpPlan {
  Plan plan;
  ConvertReport report;  // of a dry run
  check::TargetKind kind = check::TargetKind::kFile;
  std::optional<Compression> compression;  // of the outputs, which are items then
};

// Everything up to the first write.
Result<DcpPlan> PlanToDcp(io::FileSystem& files, const std::filesystem::path& source,
                          const std::filesystem::path& target, const ConvertOptions& options);

Result<ConvertReport> ToDcp(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options);

}  // namespace dcpctl::ops
