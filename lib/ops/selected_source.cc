#include "ops/selected_source.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text_hash.h"
#include "check/payload.h"
#include "ops/damage.h"
#include "ops/select.h"
#include "ops/survey.h"

namespace dcpctl::ops {
namespace {

// What is wrong with entries that nobody asked for is no news.
void DropFindingsOfOthers(Catalog& catalog, const std::vector<bool>& selected) {
  TextViewSet others;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i]) others.insert(catalog.KeyOf(catalog.entries[i]));
  }
  std::erase_if(catalog.findings, [&](const Finding& finding) { return others.contains(finding.key); });
}

}  // namespace

void Announce(const RunOptions& options, std::string_view stage, uint64_t bytes) {
  if (options.observer != nullptr) options.observer->OnStage(stage, bytes);
}

Result<SelectedSource> OpenSelected(io::FileSystem& files, const std::filesystem::path& source,
                                    const ConvertOptions& options, const OpenOptions& open) {
  Announce(options.run, "survey");
  SurveyOptions survey{.depth = SurveyDepth::kMetadata,
                       .jobs = options.run.jobs,
                       .allow_globals = options.allow_globals,
                       .flattening = open.flattening,
                       .limits = options.run.limits,
                       .stop = options.run.stop};
  // First the names, to know what is wanted; then where the wanted bytes are.
  SelectedSource opened;
  DCPCTL_ASSIGN(opened.catalog, Survey(files, source, survey));
  DCPCTL_ASSIGN(opened.selected, SelectEntries(opened.catalog, options.selection));
  std::vector<bool> in_depth = opened.selected;
  for (size_t i = 0; i < opened.catalog.entries.size(); ++i) {
    const EntryRef entry = opened.catalog.entries[i];
    if (options.objects == ObjectPolicy::kDrop && !entry.is_tensor) opened.selected[i] = false;
    in_depth[i] = opened.selected[i] && !(open.skip_tensors && entry.is_tensor);
  }
  TextSet wanted;
  if (std::find(in_depth.begin(), in_depth.end(), false) != in_depth.end()) {
    wanted = KeysOf(opened.catalog, in_depth);
    survey.wanted = [&wanted](std::string_view key) { return wanted.contains(key); };
  }
  survey.depth = SurveyDepth::kExtents;
  DCPCTL_ASSIGN(opened.catalog, Survey(files, source, survey));
  if (opened.catalog.entries.size() != opened.selected.size()) {
    return Fail(Place{.file = source.string()}, ErrorKind::kMismatch, "changed while it was being read");
  }
  DropFindingsOfOthers(opened.catalog, opened.selected);
  if (options.skip_damaged) {
    DCPCTL_TRY(check::CheckPayloads(files, opened.catalog, opened.selected, options.run, opened.catalog.findings));
  }
  DCPCTL_ASSIGN(opened.left_out, HandleDamage(opened.catalog, options.skip_damaged, opened.selected));
  return opened;
}

void CountEntries(const SelectedSource& source, ConvertReport& report) {
  report.left_out = source.left_out;
  for (size_t i = 0; i < source.catalog.entries.size(); ++i) {
    if (!source.selected[i]) continue;
    const EntryRef entry = source.catalog.entries[i];
    ++(entry.is_tensor ? report.tensors : report.objects);
    if (!entry.is_tensor) continue;
    const Tensor& tensor = source.catalog.tensors[entry.index];
    report.tensor_bytes += Numel(tensor.shape).value_or(0) * ItemBytes(tensor.dtype);
  }
}

}  // namespace dcpctl::ops
