#include "dcpctl/convert.h"

#include <string>

#include "base/result.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "ops/detect.h"
#include "ops/to_dcp.h"
#include "ops/to_torch.h"

namespace dcpctl {
namespace {

// The named commands take one kind of source, so that a slip is noticed.
Result<void> CheckKind(io::FileSystem& files, const std::filesystem::path& source, bool (*accepts)(SourceKind),
                       const std::string& command, const std::string& expected) {
  DCPCTL_ASSIGN(const Identity identity, ops::Identify(files, source));
  if (accepts(identity.kind)) return {};
  return Fail(Error(ErrorKind::kUnsupported, Place{.file = source.string()},
                    "this is " + identity.description + ", " + command + " needs " + expected)
                  .Advise(identity.advice));
}

bool IsDcp(SourceKind kind) { return kind == SourceKind::kDcp || kind == SourceKind::kDcpRankLocal; }
bool IsTorch(SourceKind kind) { return kind == SourceKind::kTorchZip || kind == SourceKind::kTorchLegacy; }

}  // namespace

Result<ConvertReport> DcpToTorch(const std::filesystem::path& source, const std::filesystem::path& target,
                                 const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  DCPCTL_TRY(CheckKind(*files, source, IsDcp, "dcp_to_torch", "a DCP directory"));
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
  if (options.layout.empty()) return Fail(ErrorKind::kUsage, "no layout, expected one to reshard to");
  const auto files = io::NewPosixFileSystem();
  DCPCTL_TRY(CheckKind(*files, source, IsDcp, "reshard", "a DCP directory"));
  return ops::ToDcp(*files, source, target, options);
}

Result<ConvertReport> Convert(const std::filesystem::path& source, const std::filesystem::path& target, OutputFormat to,
                              const ConvertOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return to == OutputFormat::kTorch ? ops::ToTorch(*files, source, target, options)
                                    : ops::ToDcp(*files, source, target, options);
}

}  // namespace dcpctl
