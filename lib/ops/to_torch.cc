#include "ops/to_torch.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "check/preflight.h"
#include "ops/cast.h"
#include "ops/foreign_names.h"
#include "ops/select.h"
#include "ops/selected_source.h"
#include "ops/torch_output.h"
#include "ops/write.h"
#include "torch/flatten.h"
#include "torch/tensor.h"

namespace dcpctl::ops {
namespace {

Result<TorchOutput> PlanOutput(const SelectedSource& source, const std::filesystem::path& target,
                               const ConvertOptions& options) {
  const Catalog& catalog = source.catalog;
  TorchOutputOptions output{
      .selected = source.selected, .flat = options.flat || !catalog.nested, .int_keys = options.int_keys};
  DCPCTL_ASSIGN(output.paths, RenamePaths(catalog, source.selected, options.selection));
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!source.selected[i])
      output.removed.push_back(NewPath(catalog.KeyPathOf(catalog.entries[i]), options.selection));
  }
  DCPCTL_ASSIGN(TorchOutput planned, PlanTorchOutput(catalog, target.string(), std::move(output)));
  DCPCTL_TRY(CheckPlan(planned.plan));
  return planned;
}

// Whether a torch.save file can be taken as it is, with every type of key and container, and views that share a
// storage. Entries have flat keys, as in a checkpoint, and what is put together from them has dicts and lists.
bool KeepsWhole(const ConvertOptions& options) {
  const Selection& selection = options.selection;
  return selection.select.empty() && selection.exclude.empty() && !RenamesAny(selection) && !options.flat &&
         !options.int_keys && !options.skip_damaged && options.objects == ObjectPolicy::kKeep && !options.dtype;
}

// Of a state that was taken as one object: its entries, as if it had been taken apart.
void CountWhole(const Object& state, const Limits& limits, ConvertReport& report) {
  const auto leaves = torch::Flatten(state.value->document.root(), {}, limits);
  if (!leaves) return;
  report.tensors = report.objects = 0;
  for (const torch::Leaf& leaf : *leaves) {
    const auto tensor = torch::ReadPlainTensor(leaf.value, {});
    ++(tensor ? report.tensors : report.objects);
    if (tensor) report.tensor_bytes += Numel(tensor->shape).value_or(0) * ItemBytes(tensor->dtype);
  }
}

ConvertReport MakeReport(const SelectedSource& source, const TorchOutput& output, const ConvertOptions& options) {
  ConvertReport report{.plan = Summarize(output.plan)};
  report.plan.findings = source.catalog.findings;
  CountEntries(source, report);
  const Catalog& catalog = source.catalog;
  if (catalog.format == Format::kTorch && KeepsWhole(options) && catalog.objects.size() == 1 && source.selected[0])
    CountWhole(catalog.objects[0], options.run.limits, report);
  if (auto note = NoteForeignNames(source.catalog, source.selected)) report.plan.findings.push_back(*std::move(note));
  if (const uint64_t gaps = output.removed_positions; gaps > 0) {
    const std::string what =
        gaps == 1 ? "1 list position whose entry is" : std::to_string(gaps) + " list positions whose entries are";
    report.plan.findings.push_back({.id = "convert.list-gap",
                                    .severity = Severity::kNote,
                                    .message = what + " left out became None, so that the others keep their places"});
  }
  return report;
}

}  // namespace

Result<ConvertReport> ToTorch(io::FileSystem& files, const std::filesystem::path& source,
                              const std::filesystem::path& target, const ConvertOptions& options) {
  DCPCTL_TRY(CheckRunOptions(options.run));
  DCPCTL_TRY(CheckCastOptions(options));
  DCPCTL_ASSIGN(const check::TargetKind kind, check::CheckTarget(files, source, target, options.run.force));
  const auto start = std::chrono::steady_clock::now();
  DCPCTL_ASSIGN(SelectedSource opened,
                OpenSelected(files, source, options,
                             {.flattening = KeepsWhole(options) ? Flattening::kWhole : Flattening::kAlways}));
  std::optional<CastTotals> cast;
  if (options.dtype) cast = SetDType(opened.catalog, opened.selected, *options.dtype);
  DCPCTL_ASSIGN(const TorchOutput output, PlanOutput(opened, target, options));
  DCPCTL_TRY(OpenMathFor(output.plan, options.run));
  ConvertReport report = MakeReport(opened, output, options);
  report.plan.needs.cuda = UsesDevice(options.run);
  report.cast = cast;
  if (!options.run.dry_run)
    DCPCTL_TRY(WriteAndRecord(WriteOutput(files, output.plan, target, kind, options.run), start, report));
  return report;
}

}  // namespace dcpctl::ops
