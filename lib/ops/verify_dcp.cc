#include <string>
#include <utility>

#include "base/result.h"
#include "base/text_hash.h"
#include "check/accounting.h"
#include "check/archive_log.h"
#include "check/coverage.h"
#include "check/leftovers.h"
#include "check/records.h"
#include "dcp/survey.h"
#include "ops/select.h"
#include "ops/verify.h"

namespace dcpctl::ops {
namespace {

bool IsNarrow(const Selection& selection) { return !selection.select.empty() || !selection.exclude.empty(); }

class DcpVerifier {
 public:
  DcpVerifier(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options)
      : files_(files), path_(path), options_(options), log_(Payload()) {}

  Result<Verified> Run() {
    auto surveyed = Survey();
    if (!surveyed) {
      DCPCTL_ASSIGN(Finding finding, ToFinding(surveyed.error(), path_, Format::kDcp));
      return OnlyFinding(std::move(finding));
    }
    Catalog& catalog = verified_.catalog = *std::move(surveyed);
    DCPCTL_ASSIGN(verified_.selected, SelectedEntries(catalog, options_.selection));
    CheckNames();
    check::CheckChunkCoverage(catalog, catalog.findings);
    check::CheckRecordPlaces(catalog, catalog.findings);
    log_.AddFindings(catalog, catalog.findings);
    DCPCTL_TRY(check::CheckLeftovers(files_, catalog, catalog.findings));
    DCPCTL_TRY(Account());
    if (Payload()) DCPCTL_TRY(VerifyPayloads(files_, log_.Storages(catalog), options_, verified_));
    return std::move(verified_);
  }

 private:
  [[nodiscard]] bool Payload() const { return options_.level != VerifyLevel::kStructure; }

  Result<Catalog> Survey() {
    SurveyOptions survey{.depth = SurveyDepth::kMetadata,
                         .jobs = options_.run.jobs,
                         .limits = options_.run.limits,
                         .stop = options_.run.stop};
    if (IsNarrow(options_.selection)) {  // names first, to know what is wanted
      DCPCTL_ASSIGN(const Catalog names, dcp::SurveyDirectory(files_, path_, survey, {.goes_on = true}));
      DCPCTL_ASSIGN(const std::vector<bool> selected, SelectedEntries(names, options_.selection));
      wanted_ = KeysOf(names, selected);
      survey.wanted = [this](std::string_view key) { return wanted_.contains(key); };
    }
    survey.depth = SurveyDepth::kExtents;
    const dcp::SurveyHooks hooks{
        .records = {.on_archive = [this](auto&&... args) { log_.Add(std::forward<decltype(args)>(args)...); },
                    .decode = Payload()},
        .on_spare =
            [this](const dcp::SpareRecord& record) {
              spare_.push_back({.file = record.file, .offset = record.offset, .length = record.length});
            },
        .goes_on = true};
    return dcp::SurveyDirectory(files_, path_, survey, hooks);
  }

  // Keys are distinct; the names that a conversion makes of them need not be.
  void CheckNames() {
    if (AreNamedByKeys(verified_.catalog)) return;
    const auto paths = RenamePaths(verified_.catalog, verified_.selected, {});
    if (paths) return;
    verified_.catalog.findings.push_back({.id = "dcp.key-collision",
                                          .severity = Severity::kWarning,
                                          .message = paths.error().Text(),
                                          .advice = paths.error().advice()});
  }

  // With the metadata file alone in the catalog, so that its movement is seen.
  Verified OnlyFinding(Finding finding) {
    Catalog& catalog = verified_.catalog;
    catalog.root = path_;
    if (const auto info = files_.Stat(path_ / finding.file); info && info->type == io::FileType::kRegular) {
      catalog.files.push_back(
          {.path = finding.file, .bytes = info->bytes, .referenced = true, .mtime_ns = info->mtime_ns});
    }
    catalog.findings.push_back(std::move(finding));
    return std::move(verified_);
  }

  Result<void> Account() {
    Catalog& catalog = verified_.catalog;
    auto account = check::AccountForBytes(files_, catalog, spare_, options_.run, catalog.findings);
    if (!account && account.error().kind() == ErrorKind::kMismatch) return {};  // CheckMovement will say so
    if (!account) return Fail(std::move(account).error());
    verified_.totals.used_bytes = account->used;
    verified_.totals.padding_bytes = account->padding;
    verified_.totals.orphan_bytes = account->orphan;
    return {};
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const VerifyOptions& options_;
  check::ArchiveLog log_;
  TextSet wanted_;
  std::vector<check::FileRange> spare_;
  Verified verified_;
};

}  // namespace

Result<Verified> VerifyDcp(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options) {
  return DcpVerifier(files, path, options).Run();
}

}  // namespace dcpctl::ops
