#include "dcpctl/inspect.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "ops/damage.h"
#include "ops/detect.h"
#include "ops/foreign_names.h"
#include "ops/inspect_unfinished.h"
#include "ops/select.h"
#include "ops/statistics.h"
#include "ops/survey.h"
#include "ops/wrapper_names.h"

namespace dcpctl {
namespace {

InspectTotals Total(const Catalog& catalog) {
  InspectTotals totals;
  for (const EntryRef entry : catalog.entries) {
    if (!entry.is_tensor) {
      ++totals.objects;
      continue;
    }
    const Tensor& tensor = catalog.tensors[entry.index];
    const std::optional<uint64_t> elements = Numel(tensor.shape);
    ++totals.tensors;
    totals.chunks += tensor.chunk_count;
    AddSaturating(totals.elements, elements);
    AddSaturating(totals.bytes, elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)) : std::nullopt);
  }
  for (const SourceFile& file : catalog.files) {
    if (file.missing) continue;
    ++totals.files;
    AddSaturating(totals.file_bytes, file.bytes);
  }
  return totals;
}

// The key itself, or the way a table spells it: what is shown can be given back.
Result<EntryRef> FindEntry(const Catalog& catalog, const std::string& key) {
  for (const bool escaped : {false, true}) {
    for (const EntryRef entry : catalog.entries) {
      const std::string_view found = catalog.KeyOf(entry);
      if (escaped ? Escape(found) == key : found == key) return entry;
    }
  }
  std::vector<std::string> keys;
  for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
  std::string near;
  for (const std::string& name : NearestNames(key, keys)) near += (near.empty() ? "" : ", ") + Quote(name);
  return Fail(Error(ErrorKind::kNotFound, {.file = catalog.root.string()}, "there is no entry " + Quote(key))
                  .Advise(near.empty() ? "`dcpctl inspect` lists the keys" : "did you mean " + near + "?"));
}

// As SelectEntries decides; errors are its affair.
bool IsSelected(const Selection& selection, std::string_view key) {
  const auto matches = [&](const std::string& pattern) { return ops::MatchesKey(pattern, key); };
  return (selection.select.empty() || std::any_of(selection.select.begin(), selection.select.end(), matches)) &&
         std::none_of(selection.exclude.begin(), selection.exclude.end(), matches);
}

SurveyOptions FirstLook(const InspectOptions& options) {
  SurveyOptions survey{.depth = SurveyDepth::kMetadata, .jobs = options.run.jobs, .limits = options.run.limits};
  if (options.has_key || !options.names) return survey;  // of the one entry, later
  survey.depth = SurveyDepth::kObjects;
  survey.wanted = [&options](std::string_view key) { return IsSelected(options.selection, key); };
  return survey;
}

// The object's value as a survey of this depth has it, and that survey's findings.
Result<Catalog> LookAt(const std::filesystem::path& path, const InspectOptions& options, SurveyDepth depth,
                       Object& object) {
  SurveyOptions survey{.depth = depth, .jobs = options.run.jobs, .limits = options.run.limits};
  survey.wanted = [&](std::string_view other) { return other == object.key; };
  DCPCTL_ASSIGN(Catalog catalog, Survey(path, survey));
  DCPCTL_ASSIGN(const EntryRef entry, FindEntry(catalog, std::string(object.key)));
  if (entry.is_tensor)
    return Fail({.file = path.string()}, ErrorKind::kMismatch, Quote(object.key) + " changed while it was read");
  object.value = catalog.objects[entry.index].value;
  return catalog;
}

// Objects only: all there is to say about a tensor is in the metadata. What is wrong with the object becomes
// a finding, and it stays without a value, unless the names in it are all that is wrong.
Result<void> ReadValue(const std::filesystem::path& path, const InspectOptions& options, Format format, Object& object,
                       Findings& findings) {
  // A torch.save file is refused as a whole for what one object names, so it is only looked at as long as that will do.
  const bool look_first = format == Format::kTorch;
  for (const bool look : {look_first, !look_first}) {
    const SurveyDepth depth = look ? SurveyDepth::kObjects : SurveyDepth::kExtents;
    DCPCTL_ASSIGN(Catalog catalog, LookAt(path, options, depth, object));
    if (!look) findings = std::move(catalog.findings);  // those of the metadata again, and those of the object
    if (object.value) return {};
  }
  return {};
}

// Drops the entries that are not selected.
Result<void> Narrow(Catalog& catalog, const Selection& selection) {
  DCPCTL_ASSIGN(const std::vector<bool> selected, ops::SelectEntries(catalog, selection));
  size_t kept = 0;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (selected[i]) catalog.entries[kept++] = catalog.entries[i];
  }
  catalog.entries.resize(kept);
  return {};
}

// Where the tensors' bytes are, and what is in them. Damage becomes findings in place of those of the first look.
Result<void> AddStats(const std::filesystem::path& path, const InspectOptions& options, InspectReport& report) {
  const auto files = io::NewPosixFileSystem();
  std::set<std::string_view> keys;
  for (const EntryRef entry : report.entry ? std::vector{*report.entry} : report.catalog.entries) {
    if (entry.is_tensor) keys.insert(report.catalog.KeyOf(entry));
  }
  DCPCTL_ASSIGN(Catalog deep, ops::Survey(*files, path,
                                          {.depth = SurveyDepth::kExtents,
                                           .jobs = options.run.jobs,
                                           .wanted = [&keys](std::string_view key) { return keys.contains(key); },
                                           .limits = options.run.limits,
                                           .stop = options.run.stop}));
  if (deep.tensors.size() != report.catalog.tensors.size())
    return Fail({.file = path.string()}, ErrorKind::kMismatch, "changed while it was being read");
  std::vector<bool> wanted;
  for (const EntryRef entry : deep.entries) wanted.push_back(entry.is_tensor && keys.contains(deep.KeyOf(entry)));
  DCPCTL_TRY(ops::HandleDamage(deep, /*skip=*/true, wanted));
  DCPCTL_ASSIGN(ops::ScannedTensors scanned, ops::ScanTensors(*files, deep, wanted, options.run, "--stats"));
  report.stats.resize(deep.tensors.size());
  for (size_t t = 0; t < deep.tensors.size(); ++t) {
    if (scanned.tensors[t]) report.stats[t] = scanned.tensors[t]->stats;
    if (!scanned.errors[t]) continue;
    Place place = ops::PlaceBelow(path, *scanned.errors[t]);
    deep.findings.push_back({.id = "payload.unreadable",
                             .severity = Severity::kError,
                             .file = std::move(place.file),
                             .offset = place.offset,
                             .key = std::string(deep.tensors[t].key),
                             .message = scanned.errors[t]->Text()});
  }
  report.catalog.findings = std::move(deep.findings);
  return {};
}

// Drops what is said of entries that were not asked for.
void NarrowFindings(InspectReport& report) {
  if (report.catalog.findings.empty()) return;
  std::set<std::string_view> keys;
  const std::vector<EntryRef> only = report.entry ? std::vector{*report.entry} : report.catalog.entries;
  for (const EntryRef entry : only) keys.insert(report.catalog.KeyOf(entry));
  std::erase_if(report.catalog.findings, [&](const Finding& f) { return !f.key.empty() && !keys.contains(f.key); });
}

// Values were read for their names, but for the one that was asked for.
void NameForeign(InspectReport& report) {
  Catalog& catalog = report.catalog;
  const std::vector<EntryRef> entries = report.entry ? std::vector{*report.entry} : catalog.entries;
  ops::ForeignSummary summary = ops::FindForeignNames(catalog, entries);
  report.foreign_names = std::move(summary.names);
  report.objects_read = summary.objects_read;
  if (report.entry) return;
  for (Object& object : catalog.objects) object.value = nullptr;
}

}  // namespace

Result<InspectReport> Inspect(const std::filesystem::path& path, const InspectOptions& options) {
  InspectReport report;
  const auto files = io::NewPosixFileSystem();
  DCPCTL_ASSIGN(const Identity identity, ops::Identify(*files, path));
  if (identity.kind == SourceKind::kUnfinished) return ops::InspectUnfinished(*files, path, identity, options);
  DCPCTL_ASSIGN(report.catalog, Survey(path, FirstLook(options)));
  Catalog& catalog = report.catalog;
  DCPCTL_TRY(Narrow(catalog, options.selection));
  report.totals = Total(catalog);
  if (options.has_key) {
    DCPCTL_ASSIGN(report.entry, FindEntry(catalog, options.key));
    if (!report.entry->is_tensor) {
      Object& object = catalog.objects[report.entry->index];
      if (!object.value) DCPCTL_TRY(ReadValue(path, options, catalog.format, object, catalog.findings));
    }
  }
  if (options.stats) DCPCTL_TRY(AddStats(path, options, report));
  if (options.names) NameForeign(report);
  if (!options.has_key) {
    if (auto note = ops::NoteWrapperNames(catalog)) catalog.findings.push_back(*std::move(note));
  }
  const bool narrow = options.has_key || !options.selection.select.empty() || !options.selection.exclude.empty();
  if (narrow) NarrowFindings(report);
  return report;
}

}  // namespace dcpctl
