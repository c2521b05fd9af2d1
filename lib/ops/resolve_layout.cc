#include "ops/resolve_layout.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/survey.h"
#include "ops/layout_file.h"
#include "ops/select.h"
#include "ops/survey.h"

namespace dcpctl::ops {
namespace {

std::vector<LayoutEntry> ListEntries(const Catalog& catalog, const std::vector<KeyPath>& paths) {
  std::vector<bool> kept(paths.size());
  for (size_t e = 0; e < paths.size(); ++e) kept[e] = !paths[e].empty();
  std::vector<LayoutEntry> entries = ListLayoutEntries(catalog, kept);
  for (LayoutEntry& entry : entries) entry.key = JoinPath(paths[entry.entry]);
  return entries;
}

// "rank_3", "dp_rank_0": what one rank keeps for itself.
bool IsOfOneRank(std::string_view component) {
  const size_t at = component.rfind("rank_");
  if (at == std::string_view::npos || (at > 0 && component[at - 1] != '_')) return false;
  const std::string_view number = component.substr(at + 5);
  return !number.empty() && std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
}

// C83: such state was made for the ranks that there were, and no rule says what others should have of it.
void NotePerRankState(const std::vector<LayoutEntry>& entries, Findings& notes) {
  uint64_t count = 0;
  std::string first;
  for (const LayoutEntry& entry : entries) {
    bool found = false;
    for (std::string_view rest = entry.key; !rest.empty() && !found;) {
      const size_t dot = std::min(rest.find('.'), rest.size());
      found = IsOfOneRank(rest.substr(0, dot));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    if (found && count++ == 0) first = entry.key;
  }
  if (count == 0) return;
  notes.push_back({.id = "reshard.per-rank-state",
                   .severity = Severity::kWarning,
                   .key = first,
                   .message = (count == 1 ? std::string("1 entry is named after a rank, and carried over as it is")
                                          : std::to_string(count) +
                                                " entries are named after a rank, and carried over as they are") +
                              ": state of single ranks is not resharded",
                   .advice = "ranks that were not there before find none; ranks that are gone leave theirs behind"});
}

void NoteFallback(const MeshLayout& layout, const RankLayout& result, Findings& notes) {
  const uint64_t count = result.rule_tensors.empty() ? 0 : result.rule_tensors.back();
  if (count == 0) return;
  notes.push_back({.id = "reshard.default-rule",
                   .severity = Severity::kNote,
                   .message = (count == 1 ? std::string("1 tensor that no rule matches is")
                                          : std::to_string(count) + " tensors that no rule matches are") +
                              " laid out as " + ToString(layout.fallback.placements, layout.mesh)});
}

void NoteHiddenRules(const MeshLayout& layout, const RankLayout& result, Findings& notes) {
  for (size_t r = 0; r < layout.rules.size(); ++r) {
    if (result.rule_tensors[r] > 0) continue;
    notes.push_back({.id = "reshard.hidden-rule",
                     .severity = Severity::kWarning,
                     .message = layout.rules[r].origin + " decides nothing: all that it matches went to earlier rules",
                     .advice = "the first rule that matches a key counts: put the narrower one first"});
  }
}

Result<MeshLayout> ReadMeshLayout(io::FileSystem& files, const LayoutOptions& options, const Limits& limits) {
  if (!options.mesh.empty()) return ParseMeshLayout(options.mesh, options.placements, limits);
  if (options.file.empty()) return MakeFsdpLayout(options.world_size, limits);
  DCPCTL_ASSIGN(const auto file, files.OpenRead(options.file));
  return ReadLayoutFile(*file, limits);
}

// A rule that does not fit is a wrong command line only if it was there.
Error WithFile(Error error, const LayoutOptions& options) {
  if (options.file.empty()) return error;
  const ErrorKind kind = error.kind() == ErrorKind::kUsage ? ErrorKind::kCorrupt : error.kind();
  return Error(kind, Place{.file = options.file.string()}, error.Text()).Advise(error.advice());
}

Result<RankLayout> TakeLayoutOf(io::FileSystem& files, const std::vector<LayoutEntry>& entries,
                                const ConvertOptions& options) {
  const SurveyOptions survey{.depth = SurveyDepth::kMetadata,
                             .jobs = options.run.jobs,
                             .limits = options.run.limits,
                             .stop = options.run.stop};
  DCPCTL_ASSIGN(const Catalog like, Survey(files, options.layout.like, survey));
  if (like.format != Format::kDcp) {
    return Fail(Place{.file = options.layout.like.string()}, ErrorKind::kUnsupported,
                "this is a torch.save file, expected a DCP directory whose layout can be taken");
  }
  const Selection& selection = options.selection;
  const bool is_part = !selection.select.empty() || !selection.exclude.empty() ||
                       options.objects == ObjectPolicy::kDrop || options.skip_damaged;
  return AssignLike(entries, like, is_part ? ExtraKeys::kIgnore : ExtraKeys::kRefuse, options.run.limits);
}

}  // namespace

Result<ResolvedLayout> ResolveLayout(io::FileSystem& files, const Catalog& catalog, const std::vector<KeyPath>& paths,
                                     const ConvertOptions& options) {
  const std::vector<LayoutEntry> entries = ListEntries(catalog, paths);
  ResolvedLayout resolved;
  NotePerRankState(entries, resolved.notes);
  if (!options.layout.like.empty()) {
    DCPCTL_ASSIGN(resolved.layout, TakeLayoutOf(files, entries, options));
    return resolved;
  }
  DCPCTL_ASSIGN(const MeshLayout mesh, ReadMeshLayout(files, options.layout, options.run.limits));
  auto layout = AssignRanks(entries, mesh, MatchesKey, options.run.limits);
  if (!layout) return Fail(WithFile(std::move(layout).error(), options.layout));
  resolved.layout = *std::move(layout);
  NoteHiddenRules(mesh, resolved.layout, resolved.notes);
  if (options.layout.world_size == 0) NoteFallback(mesh, resolved.layout, resolved.notes);
  return resolved;
}

}  // namespace dcpctl::ops
