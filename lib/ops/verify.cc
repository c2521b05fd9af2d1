#include "ops/verify.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "check/movement.h"
#include "ops/damage.h"
#include "ops/detect.h"
#include "ops/select.h"
#include "ops/selected_source.h"
#include "plugin/math.h"

namespace dcpctl {
namespace ops {
namespace {

void CountContents(const Verified& verified, VerifyReport& report) {
  const Catalog& catalog = verified.catalog;
  VerifyTotals& totals = report.totals;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!verified.selected[i]) continue;
    const EntryRef entry = catalog.entries[i];
    ++(entry.is_tensor ? totals.tensors : totals.objects);
    if (!entry.is_tensor) continue;
    const Tensor& tensor = catalog.tensors[entry.index];
    const std::optional<uint64_t> elements = Numel(tensor.shape);
    totals.chunks += tensor.chunk_count;
    AddSaturating(totals.bytes, elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)) : std::nullopt);
  }
  std::set<uint64_t> ranks;
  for (const SourceFile& file : catalog.files) {
    if (file.missing) continue;
    ++totals.files;
    AddSaturating(totals.file_bytes, file.bytes);
    if (file.rank && (file.referenced || catalog.entries.empty())) ranks.insert(*file.rank);
  }
  report.ranks = ranks.size();
}

// What a conversion must refuse need not be damage: there is nothing wrong with it, as far as can be seen.
void SoftenUnsupported(Findings& findings) {
  for (Finding& finding : findings) {
    const auto is_one_of = [&](auto... ids) { return (... || (finding.id == ids)); };
    if (is_one_of("dcp.transform-unknown", "dcp.record-unsupported", "torch.unsupported-entry", "torch.key-collision"))
      finding.severity = Severity::kWarning;  // not all of it was looked at
    if (is_one_of("torch.not-a-plain-tensor", "torch.uncertain-key")) finding.severity = Severity::kNote;
  }
}

void DropFindingsOfOthers(Verified& verified) {
  TextViewSet others;
  for (size_t i = 0; i < verified.catalog.entries.size(); ++i) {
    if (!verified.selected[i]) others.insert(verified.catalog.KeyOf(verified.catalog.entries[i]));
  }
  if (others.empty()) return;
  std::erase_if(verified.catalog.findings, [&](const Finding& f) { return !f.key.empty() && others.contains(f.key); });
}

// Something that a writer would soon set right.
bool MayBeMoving(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.severity == Severity::kError && f.id.find("being-written") == std::string::npos;
  });
}

void SortFindings(Findings& findings) {
  const auto order = [](const Finding& f) {
    return std::tuple(-static_cast<int>(f.severity), std::string_view(f.id), std::string_view(f.file),
                      f.offset.value_or(0));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
}

void Judge(const VerifyOptions& options, VerifyReport& report) {
  for (const Finding& finding : report.findings) {
    switch (finding.severity) {
      case Severity::kError: ++report.totals.errors; break;
      case Severity::kWarning: ++report.totals.warnings; break;
      case Severity::kNote: ++report.totals.notes; break;
    }
  }
  report.ok = report.totals.errors == 0 && (!options.strict || report.totals.warnings == 0);
}

Result<Verified> Look(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options) {
  DCPCTL_ASSIGN(const Identity identity, Identify(files, path));
  switch (identity.kind) {
    case SourceKind::kDcp:
    case SourceKind::kDcpRankLocal: return VerifyDcp(files, path, options);
    case SourceKind::kUnfinished: return VerifyUnfinished(files, path, options);
    case SourceKind::kTorchZip: return VerifyTorchZip(files, path, options);
    case SourceKind::kTruncatedZip: return VerifyDamagedZip(files, path, options);
    case SourceKind::kTorchLegacy: return VerifyTorchLegacy(files, path, options);
    default: break;
  }
  const bool may_come = identity.kind == SourceKind::kSafetensorsDir || identity.kind == SourceKind::kSafetensorsFile;
  return Fail(Error(ErrorKind::kUnsupported, Place{.file = path.string()},
                    "this is " + identity.description +
                        (may_come ? ", which this version does not verify yet" : ", expected a checkpoint"))
                  .Advise(identity.advice));
}

}  // namespace

Result<std::vector<bool>> SelectedEntries(const Catalog& catalog, const Selection& selection) {
  if (selection.select.empty() && selection.exclude.empty()) return std::vector<bool>(catalog.entries.size(), true);
  return SelectEntries(catalog, selection);
}

Result<void> VerifyPayloads(io::FileSystem& files, std::span<const check::LooseRecord> loose,
                            const VerifyOptions& options, Verified& verified) {
  Catalog& catalog = verified.catalog;
  auto checked = check::CheckPayloads(files, catalog, verified.selected, options.run, catalog.findings, loose);
  if (!checked && checked.error().kind() == ErrorKind::kMismatch) return {};  // CheckMovement will say so
  if (!checked) return Fail(std::move(checked).error());
  verified.totals.checked_storages = checked->records;
  verified.totals.checked_bytes = checked->bytes;
  verified.totals.unknown_checksums = checked->unknown;
  if (checked->unknown == 0) return {};
  catalog.findings.push_back({.id = "payload.unknown-checksum",
                              .severity = Severity::kNote,
                              .message = std::to_string(checked->unknown) + " of " + std::to_string(checked->records) +
                                         " storages have no checksum: they were read, and whether their bytes are "
                                         "right nobody can tell"});
  return {};
}

Result<Finding> ToFinding(const Error& error, const std::filesystem::path& root, Format format) {
  const bool dcp = format == Format::kDcp;
  Place place = PlaceBelow(root, error);
  Finding finding{.id = dcp ? "dcp.metadata-damaged" : "torch.pickle-damaged",
                  .severity = Severity::kError,
                  .file = std::move(place.file),
                  .offset = place.offset,
                  .message = error.Text(),
                  .advice = error.advice()};
  switch (error.kind()) {
    case ErrorKind::kCorrupt:
    case ErrorKind::kLimit: return finding;
    case ErrorKind::kUnsupported: finding.id = dcp ? "dcp.metadata-refused" : "torch.pickle-refused"; return finding;
    case ErrorKind::kMismatch: return check::BeingWritten(format, finding.file, "it changed");
    default: return Fail(error);
  }
}

Result<VerifyReport> Verify(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options) {
  DCPCTL_TRY(CheckManifestTarget(files, path, options));
  // Known before everything is read.
  if (options.level == VerifyLevel::kValues) DCPCTL_TRY(plugin::OpenTensorMath(options.run.plugins, "--values"));
  Announce(options.run, "survey");
  DCPCTL_ASSIGN(Verified verified, Look(files, path, options));
  Catalog& catalog = verified.catalog;
  catalog.root = path;
  DCPCTL_TRY(VerifyValues(files, options, verified));
  SoftenUnsupported(catalog.findings);
  DropFindingsOfOthers(verified);
  if (MayBeMoving(catalog.findings)) std::this_thread::sleep_for(std::chrono::milliseconds(options.settle_ms));
  check::CheckMovement(files, catalog, catalog.findings);
  Findings found = std::move(catalog.findings);
  DCPCTL_TRY(VerifyWith(files, path, options, catalog, found));
  catalog.findings = std::move(found);
  VerifyReport report{
      .path = path, .format = catalog.format, .level = options.level, .totals = verified.totals, .findings = {}};
  CountContents(verified, report);
  report.findings = std::move(catalog.findings);
  SortFindings(report.findings);
  Judge(options, report);
  return report;
}

}  // namespace ops

Result<VerifyReport> Verify(const std::filesystem::path& path, const VerifyOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return ops::Verify(*files, path, options);
}

}  // namespace dcpctl
