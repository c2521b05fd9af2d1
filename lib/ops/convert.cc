#include "dcpctl/convert.h"

#include <string>

#include "base/result.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "ops/detect.h"
#include "ops/reshard.h"
#include "ops/to_dcp.h"
#include "ops/to_torch.h"

namespace dcpctl {
namespace {

using ops::CheckKind;

bool IsTorch(SourceKind kind) { return kind == SourceKind::kTorchZip || kind == SourceKind::kTorchLegacy; }

}  // namespace

Result<ConvertReport> DcpToTorch(const std::filesystem::path& source, const std::filesystem::path& target,
                                 const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  DCPCTL_TRY(CheckKind(*files, source, ops::IsDcp, "dcp_to_torch", "a DCP directory"));
  return ops::ToTorch(*files, source, target, options);
}

Result<ConvertReport> TorchToDcp(const std::filesystem::path& source, const std::filesystem::path& target,
                                 const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  DCPCTL_TRY(CheckKind(*files, source, IsTorch, "torch_to_dcp", "a torch.save file"));
  return ops::ToDcp(*files, source, target, options);
}

Result<ConvertReport> Reshard(const std::filesystem::path& source, const std::filesystem::path& target,
                              const ConvertOptions& options) {
  return ops::Reshard(source, target, options);
}

Result<ConvertReport> Convert(const std::filesystem::path& source, const std::filesystem::path& target, OutputFormat to,
                              const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return to == OutputFormat::kTorch ? ops::ToTorch(*files, source, target, options)
                                    : ops::ToDcp(*files, source, target, options);
}

}  // namespace dcpctl
