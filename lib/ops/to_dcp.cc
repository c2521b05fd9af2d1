#include "ops/to_dcp.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "check/preflight.h"
#include "dcp/compat.h"
#include "ops/cast.h"
#include "ops/dcp_output.h"
#include "ops/dcp_placement.h"
#include "ops/reflatten.h"
#include "ops/resolve_layout.h"
#include "ops/select.h"
#include "ops/selected_source.h"
#include "ops/write.h"
#include "ops/write_compressed.h"

namespace dcpctl::ops {
namespace {

// What is selected, under its new names.
struct NamedSource {
  SelectedSource source;
  std::vector<KeyPath> paths;     // by Catalog::entries; none where not selected
  std::vector<bool> made;         // see Placing
  uint64_t whole_containers = 0;  // see IsWholeContainer
  std::optional<CastTotals> cast = std::nullopt;
};

Result<NamedSource> NameEntries(SelectedSource source, const Selection& selection) {
  NamedSource named{.source = std::move(source), .paths = {}, .made = {}};
  const Catalog& catalog = named.source.catalog;
  DCPCTL_ASSIGN(std::vector<KeyPath> paths, RenamePaths(catalog, named.source.selected, selection));
  named.paths.resize(catalog.entries.size());
  size_t next = 0;
  for (size_t e = 0; e < catalog.entries.size(); ++e) {
    if (named.source.selected[e]) named.paths[e] = std::move(paths[next++]);
  }
  return named;
}

// The same state, taken apart by other rules.
Result<NamedSource> WithFlattening(NamedSource named, Flattening rules, const ConvertOptions& options) {
  FlatEntries flat{.catalog = std::move(named.source.catalog), .paths = std::move(named.paths), .removed = {}};
  for (size_t e = 0; e < flat.catalog.entries.size(); ++e) {
    if (!named.source.selected[e])
      flat.removed.push_back(NewPath(flat.catalog.KeyPathOf(flat.catalog.entries[e]), options.selection));
  }
  DCPCTL_ASSIGN(Reflattened result, Reflatten(std::move(flat), rules, options.run.limits));
  named.source.catalog = std::move(result.catalog);
  named.source.selected.assign(named.source.catalog.entries.size(), true);
  named.paths = std::move(result.paths);
  named.made = std::move(result.made);
  return named;
}

void CountWholeContainers(const Limits& limits, NamedSource& named) {
  const Catalog& catalog = named.source.catalog;
  for (size_t e = 0; e < catalog.entries.size(); ++e) {
    const EntryRef entry = catalog.entries[e];
    const bool whole =
        named.source.selected[e] && !entry.is_tensor && IsWholeContainer(catalog.objects[entry.index], limits);
    named.whole_containers += whole ? 1 : 0;
  }
}

// Takes the paths.
Result<DcpOutputOptions> PlaceEntries(NamedSource& named, const RankLayout* layout, const ConvertOptions& options,
                                      const dcp::Compat& compat) {
  const Catalog& catalog = named.source.catalog;
  DcpOutputOptions output{
      .paths = std::move(named.paths), .files = {}, .items = {}, .compat = compat, .data = options.data};
  // For flat keys too: PyTorch 2.3's converter fails without.
  output.nested = compat.flattening != Flattening::kNone;
  const Placing placing{.catalog = catalog, .selected = named.source.selected, .made = named.made};
  if (layout != nullptr) {
    PlaceRanks(*layout, output);
    output.order = ItemOrder::kAsLoaded;
  } else if (options.data != DataPolicy::kRewrite) {
    DCPCTL_TRY(PlaceRecords(placing, output));
  } else if (catalog.format == Format::kDcp) {
    PlaceChunks(placing, output);
  } else {
    PlaceWhole(placing, output);
  }
  return output;
}

// A checkpoint is a dict of entries; a torch.save file may hold anything.
Result<void> CheckHasKeys(const NamedSource& named) {
  const Catalog& catalog = named.source.catalog;
  for (size_t e = 0; e < catalog.entries.size(); ++e) {
    if (!named.source.selected[e] || !named.paths[e].empty()) continue;
    const auto root = std::find_if(catalog.details.begin(), catalog.details.end(),
                                   [](const auto& detail) { return detail.first == "root"; });
    const std::string type = root == catalog.details.end() ? "something else" : "of type " + root->second;
    return Fail(Error(ErrorKind::kUnsupported, Place{.file = catalog.root.string()},
                      "the top-level object is " + type + ", expected a dict")
                    .Advise("a DCP checkpoint has a key for everything in it; --add-prefix model puts it under one"));
  }
  return {};
}

// transform_descriptors came with PyTorch 2.7.
constexpr unsigned kFirstWithTransforms = 2007;

Result<void> CheckCompression(const ConvertOptions& options, const dcp::Compat& compat) {
  if (!options.zstd_level) return {};
  if (options.data != DataPolicy::kRewrite)
    return Fail(ErrorKind::kUsage, "compression and data files that are taken over, expected one of them");
  if (options.run.reflink == Reflink::kAlways)
    return Fail(ErrorKind::kUsage, "compressed data shares no blocks, expected another --reflink than always");
  if (compat.number >= kFirstWithTransforms) return {};
  return Fail(ErrorKind::kUnsupported, "PyTorch " + std::string(compat.version) +
                                           " reads no compressed items, expected 2.7 or newer for --zstd");
}

Result<void> CheckLayoutOptions(const ConvertOptions& options) {
  if (options.layout.empty() || options.data == DataPolicy::kRewrite) return {};
  return Fail(ErrorKind::kUsage, "a layout and data files that are taken over, expected one of them");
}

Result<void> CheckDataPolicy(const Catalog& catalog, DataPolicy data) {
  if (data == DataPolicy::kRewrite || catalog.format == Format::kDcp) return {};
  return Fail(Error(ErrorKind::kUnsupported, Place{.file = catalog.root.string()},
                    "this is a torch.save file, and data files can be taken over from a DCP directory alone")
                  .Advise("leave out --data and --metadata-only"));
}

Result<NamedSource> OpenNamed(io::FileSystem& files, const std::filesystem::path& source, const ConvertOptions& options,
                              const dcp::Compat& compat) {
  // Data files that are taken over need no look at each record of theirs; objects are read for what they name.
  const bool adopts = options.data != DataPolicy::kRewrite;
  DCPCTL_ASSIGN(SelectedSource opened,
                OpenSelected(files, source, options,
                             {.flattening = compat.flattening, .skip_tensors = adopts && !options.skip_damaged}));
  DCPCTL_TRY(CheckDataPolicy(opened.catalog, options.data));
  const bool is_dcp = opened.catalog.format == Format::kDcp;
  DCPCTL_ASSIGN(NamedSource named, NameEntries(std::move(opened), options.selection));
  DCPCTL_TRY(CheckHasKeys(named));
  const bool as_asked = is_dcp && !options.compat.empty() && compat.flattening != Flattening::kNone;
  if (as_asked) return WithFlattening(std::move(named), compat.flattening, options);
  if (is_dcp) CountWholeContainers(options.run.limits, named);
  return named;
}

// Until they are written, files are known by what goes into them.
void NoteCompression(PlanSummary& summary) {
  std::vector<PlanOutput> outputs;
  for (PlanOutput& output : summary.outputs) {
    if (!outputs.empty() && outputs.back().path == output.path) {
      outputs.back().bytes += output.bytes;
    } else {
      outputs.push_back(std::move(output));
    }
  }
  summary.outputs = std::move(outputs);
}

// Kept for when the outputs are written.
struct CompressedEntries {
  Catalog catalog;
  DcpOutputOptions output;
  std::vector<size_t> items;  // see CompressedOutput
};

Compression CompressionOf(int level, CompressedEntries entries) {
  const auto kept = std::make_shared<const CompressedEntries>(std::move(entries));
  return {.level = level, .metadata = [kept](std::span<const OutputExtent> extents) {
            std::vector<dcp::PlacedItem> places;
            for (const OutputExtent& extent : extents)
              places.push_back({.offset = extent.offset, .length = extent.length});
            return MakeCompressedMetadata(kept->catalog, kept->output, kept->items, places);
          }};
}

ConvertReport MakeReport(const NamedSource& named, const Plan& plan) {
  ConvertReport report{.plan = Summarize(plan), .cast = named.cast};
  report.plan.findings = named.source.catalog.findings;
  CountEntries(named.source, report);
  if (named.whole_containers > 0) {
    report.plan.findings.push_back(
        {.id = "convert.whole-containers",
         .severity = Severity::kNote,
         .message = (named.whole_containers == 1 ? std::string("1 entry is a container")
                                                 : std::to_string(named.whole_containers) + " entries are containers") +
                    " kept as one object, as PyTorch up to 2.3 does; 2.4 and later look for what is in it",
         .advice = "--compat 2.4 takes containers apart"});
  }
  return report;
}

// The plan of what is named, and what the report says of it.
Result<DcpPlan> PlanEntries(NamedSource named, std::optional<ResolvedLayout> layout, const ConvertOptions& options,
                            const dcp::Compat& compat) {
  DcpPlan planned;
  DCPCTL_ASSIGN(DcpOutputOptions output, PlaceEntries(named, layout ? &layout->layout : nullptr, options, compat));
  CompressedOutput compressed;
  if (options.zstd_level) {
    DCPCTL_ASSIGN(compressed, PlanCompressedOutput(named.source.catalog, output));
    planned.plan = std::move(compressed.plan);
  } else {
    DCPCTL_ASSIGN(planned.plan, PlanDcpOutput(named.source.catalog, output));
  }
  DCPCTL_TRY(CheckPlan(planned.plan));
  DCPCTL_TRY(OpenMathFor(planned.plan, options.run));
  planned.report = MakeReport(named, planned.plan);
  PlanSummary& summary = planned.report.plan;
  summary.needs.cuda = UsesDevice(options.run);
  if (layout) {
    planned.report.ranks = std::move(layout->layout.ranks);
    std::move(layout->notes.begin(), layout->notes.end(), std::back_inserter(summary.findings));
  }
  if (options.zstd_level) {
    NoteCompression(summary);
    planned.compression = CompressionOf(*options.zstd_level, {.catalog = std::move(named.source.catalog),
                                                              .output = std::move(output),
                                                              .items = std::move(compressed.items)});
  }
  return planned;
}

Result<ConvertReport> WriteCompressed(io::FileSystem& files, DcpPlan planned, const std::filesystem::path& target,
                                      const RunOptions& options, std::chrono::steady_clock::time_point start) {
  DCPCTL_ASSIGN(CompressedOutcome outcome,
                WriteCompressedDirectory(files, planned.plan, target, options, *planned.compression,
                                         planned.report.plan.findings));
  RecordFiles(std::move(outcome.files), planned.report.plan);
  DCPCTL_TRY(WriteAndRecord(outcome.run, start, planned.report));
  return std::move(planned.report);
}

}  // namespace

Result<DcpPlan> PlanToDcp(io::FileSystem& files, const std::filesystem::path& source,
                          const std::filesystem::path& target, const ConvertOptions& options) {
  DCPCTL_TRY(CheckRunOptions(options.run));
  DCPCTL_TRY(CheckLayoutOptions(options));
  DCPCTL_TRY(CheckCastOptions(options));
  DCPCTL_ASSIGN(const dcp::Compat compat,
                options.compat.empty() ? dcp::DefaultCompat() : dcp::CompatOf(options.compat));
  DCPCTL_TRY(CheckCompression(options, compat));
  auto kind = check::TargetKind::kFile;
  if (options.data == DataPolicy::kNone) {
    DCPCTL_ASSIGN(kind, check::CheckMetadataTarget(files, source, target, options.run.force));
  } else {
    DCPCTL_TRY(check::CheckDirectoryTarget(files, source, target, options.run.force));
  }
  DCPCTL_ASSIGN(NamedSource named, OpenNamed(files, source, options, compat));
  // Last of all: what the compatibility rules make part of an object stays as it is.
  if (options.dtype) named.cast = SetDType(named.source.catalog, named.source.selected, *options.dtype);
  std::optional<ResolvedLayout> layout;
  if (!options.layout.empty()) {
    DCPCTL_ASSIGN(layout, ResolveLayout(files, named.source.catalog, named.paths, options));
  }
  DCPCTL_ASSIGN(DcpPlan planned, PlanEntries(std::move(named), std::move(layout), options, compat));
  planned.kind = kind;
  return planned;
}

Result<ConvertReport> ToDcp(io::FileSystem& files, const std::filesystem::path& source,
                            const std::filesystem::path& target, const ConvertOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  DCPCTL_ASSIGN(DcpPlan planned, PlanToDcp(files, source, target, options));
  if (options.run.dry_run) return std::move(planned.report);
  if (planned.compression) return WriteCompressed(files, std::move(planned), target, options.run, start);
  const Plan& plan = planned.plan;
  DCPCTL_TRY(WriteAndRecord(options.data == DataPolicy::kNone
                                ? WriteOutput(files, plan, target, planned.kind, options.run)
                                : WriteDirectory(files, plan, target, options.run, planned.report.plan.findings),
                            start, planned.report));
  return std::move(planned.report);
}

}  // namespace dcpctl::ops
