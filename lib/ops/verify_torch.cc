#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "check/archive.h"
#include "check/archive_log.h"
#include "ops/verify.h"
#include "torch/archive.h"
#include "torch/survey.h"
#include "zip/end_record.h"
#include "zip/read.h"
#include "zip/search.h"

namespace dcpctl::ops {
namespace {

class TorchVerifier {
 public:
  TorchVerifier(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options)
      : files_(files), path_(path), options_(options) {}

  Result<Verified> Zip() {
    DCPCTL_ASSIGN(file_, files_.OpenRead(path_));
    auto directory = zip::ReadDirectory(*file_, 0, file_->size(), options_.run.limits);
    DCPCTL_TRY(Take(torch::SurveyTorchZip(*file_, MakeSurveyOptions())));
    std::vector<check::LooseRecord> storages;
    if (directory) storages = CheckRecords(*directory);
    if (Payload()) DCPCTL_TRY(VerifyPayloads(files_, storages, options_, verified_));
    return std::move(verified_);
  }

  Result<Verified> DamagedZip() {
    DCPCTL_ASSIGN(file_, files_.OpenRead(path_));
    DCPCTL_TRY(Take(Fail(ErrorKind::kCorrupt, "")));
    verified_.catalog.findings.clear();
    const auto directory = zip::ReadDirectory(*file_, 0, file_->size(), options_.run.limits);
    if (directory) return std::move(verified_);  // it is there by now: CheckMovement will say so
    if (directory.error().kind() == ErrorKind::kIo) return Fail(directory.error());
    DCPCTL_ASSIGN(const auto archive, zip::FindArchiveBeforeJunk(*file_));
    const bool has_end = zip::ReadEndRecord(*file_, 0, file_->size()).has_value();
    Finding finding{.id = has_end ? "zip.damaged" : "zip.truncated",
                    .severity = Severity::kError,
                    .offset = directory.error().place().offset,
                    .message = directory.error().Text(),
                    .advice = directory.error().advice()};
    if (archive && archive->end < file_->size()) {
      finding = {.id = "zip.trailing-bytes",
                 .severity = Severity::kError,
                 .offset = archive->end,
                 .message = std::to_string(file_->size() - archive->end) +
                            " bytes follow the archive, expected the end of the file",
                 .advice = "cut the file off there and verify again"};
    }
    verified_.catalog.findings.push_back(std::move(finding));
    return std::move(verified_);
  }

  Result<Verified> Legacy() {
    DCPCTL_ASSIGN(file_, files_.OpenRead(path_));
    DCPCTL_TRY(Take(torch::SurveyTorchLegacy(*file_, MakeSurveyOptions())));
    verified_.totals.used_bytes = file_->size();
    for (const Finding& finding : verified_.catalog.findings) {
      if (finding.id != "torch.trailing-bytes" || !finding.offset) continue;
      verified_.totals.orphan_bytes = file_->size() - *finding.offset;
      verified_.totals.used_bytes = *finding.offset;
    }
    if (Payload()) DCPCTL_TRY(VerifyPayloads(files_, {}, options_, verified_));
    return std::move(verified_);
  }

 private:
  [[nodiscard]] bool Payload() const { return options_.level != VerifyLevel::kStructure; }

  SurveyOptions MakeSurveyOptions() {
    return SurveyOptions{.depth = SurveyDepth::kExtents,
                         .jobs = options_.run.jobs,
                         .limits = options_.run.limits,
                         .stop = options_.run.stop};
  }

  // Also without a catalog there is a file.
  Result<void> Take(Result<Catalog> surveyed) {
    Catalog& catalog = verified_.catalog;
    if (surveyed) {
      catalog = *std::move(surveyed);
    } else {
      DCPCTL_ASSIGN(Finding finding, ToFinding(surveyed.error(), path_, Format::kTorch));
      catalog.format = Format::kTorch;
      catalog.files = {{.path = {}, .bytes = file_->size(), .referenced = true}};
      catalog.findings.push_back(std::move(finding));
    }
    catalog.root = path_;
    for (SourceFile& file : catalog.files) file.mtime_ns = file_->info().mtime_ns;
    DCPCTL_ASSIGN(verified_.selected, SelectedEntries(catalog, options_.selection));
    return {};
  }

  // Returns the records that are left to be read.
  std::vector<check::LooseRecord> CheckRecords(const zip::Directory& directory) {
    check::ArchiveCheck check = check::CheckArchive(*file_, directory);
    std::vector<check::LooseRecord> left;
    if (Payload()) {
      for (const check::ArchiveRecord& record :
           check::CheckSmallRecords(*file_, directory, check.records, check.findings)) {
        // Refused for its size, and not worth the time that it would take.
        const zip::Entry& entry = directory.entries[record.entry];
        const bool is_pickle = entry.name.ends_with("/data.pkl");
        if (is_pickle && entry.bytes > torch::MostPickleBytes(entry, options_.run.limits)) continue;
        left.push_back({.file = 0, .stored = check::StoredOf(entry, record.offset)});
      }
    }
    verified_.totals.padding_bytes = check.padding_bytes;
    verified_.totals.orphan_bytes = check.stray_bytes;
    verified_.totals.used_bytes = file_->size() - check.padding_bytes - check.stray_bytes;
    for (Finding& finding : check.findings) verified_.catalog.findings.push_back(std::move(finding));
    return left;
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const VerifyOptions& options_;
  std::unique_ptr<io::ReadFile> file_;
  Verified verified_;
};

}  // namespace

Result<Verified> VerifyTorchZip(io::FileSystem& files, const std::filesystem::path& path,
                                const VerifyOptions& options) {
  return TorchVerifier(files, path, options).Zip();
}

Result<Verified> VerifyDamagedZip(io::FileSystem& files, const std::filesystem::path& path,
                                  const VerifyOptions& options) {
  return TorchVerifier(files, path, options).DamagedZip();
}

Result<Verified> VerifyTorchLegacy(io::FileSystem& files, const std::filesystem::path& path,
                                   const VerifyOptions& options) {
  return TorchVerifier(files, path, options).Legacy();
}

}  // namespace dcpctl::ops
