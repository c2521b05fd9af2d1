#include "ops/reshard.h"

#include <memory>

#include "base/result.h"
#include "ops/detect.h"
#include "ops/mpi.h"
#include "ops/reshard_together.h"

namespace dcpctl::ops {
namespace {

Result<void> CheckReshard(io::FileSystem& files, const std::filesystem::path& source, const ConvertOptions& options) {
  if (options.layout.empty()) return Fail(ErrorKind::kUsage, "no layout, expected one to reshard to");
  return CheckKind(files, source, IsDcp, "reshard", "a DCP directory");
}

}  // namespace

Result<DcpPlan> PlanReshard(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options) {
  DCPCTL_TRY(CheckReshard(files, source, options));
  return PlanToDcp(files, source, target, options);
}

Result<ConvertReport> Reshard(const std::filesystem::path& source, const std::filesystem::path& target,
                              const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  if (!options.run.mpi) {
    DCPCTL_TRY(CheckReshard(*files, source, options));
    return ToDcp(*files, source, target, options);
  }
  DCPCTL_ASSIGN(const auto crew, JoinMpi(options.run));
  auto report = ReshardTogether(*crew, *files, source, target, options);
  crew->Leave(kEndedByForce);
  return report;
}

}  // namespace dcpctl::ops
