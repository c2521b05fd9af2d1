#include "ops/survey.h"

#include <optional>
#include <utility>

#include "base/result.h"
#include "check/coverage.h"
#include "dcp/survey.h"
#include "ops/data_file.h"
#include "ops/detect.h"
#include "torch/survey.h"

namespace dcpctl {
namespace ops {
namespace {

Result<Catalog> SurveyTorch(io::FileSystem& files, const std::filesystem::path& path, SourceKind kind,
                            const SurveyOptions& options) {
  DCPCTL_ASSIGN(const auto file, files.OpenRead(path));
  DCPCTL_ASSIGN(Catalog catalog, kind == SourceKind::kTorchZip ? torch::SurveyTorchZip(*file, options)
                                                               : torch::SurveyTorchLegacy(*file, options));
  catalog.root = path;
  for (SourceFile& source : catalog.files) source.mtime_ns = file->info().mtime_ns;
  return catalog;
}

}  // namespace

Result<Catalog> Survey(io::FileSystem& files, const std::filesystem::path& source, const SurveyOptions& options) {
  DCPCTL_ASSIGN(const Identity identity, Identify(files, source));
  switch (identity.kind) {
    case SourceKind::kDcp:
    case SourceKind::kDcpRankLocal: {
      DCPCTL_ASSIGN(Catalog catalog, dcp::SurveyDirectory(files, source, options));
      check::CheckChunkCoverage(catalog, catalog.findings);
      return catalog;
    }
    case SourceKind::kTorchZip:
    case SourceKind::kTorchLegacy: return SurveyTorch(files, source, identity.kind, options);
    case SourceKind::kDataFile: {
      DCPCTL_ASSIGN(std::optional<Catalog> catalog, SurveyDataFile(files, source, options));
      if (catalog) return *std::move(catalog);
      break;
    }
    default: break;
  }
  const bool may_come = identity.kind == SourceKind::kSafetensorsDir || identity.kind == SourceKind::kSafetensorsFile;
  return Fail(Error(ErrorKind::kUnsupported, Place{.file = source.string()},
                    "this is " + identity.description +
                        (may_come ? ", which this version does not read yet" : ", expected a checkpoint"))
                  .Advise(identity.advice));
}

}  // namespace ops

Result<Catalog> Survey(const std::filesystem::path& source, const SurveyOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return ops::Survey(*files, source, options);
}

}  // namespace dcpctl
