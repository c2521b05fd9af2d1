#include "ops/foreign_names.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "pickle/policy.h"

namespace dcpctl::ops {
namespace {

constexpr size_t kMostNamed = 5;

}  // namespace

ForeignSummary FindForeignNames(const Catalog& catalog, std::span<const EntryRef> entries) {
  ForeignSummary summary;
  // One object may be there under many keys, and name much.
  std::unordered_map<const ObjectValue*, uint64_t> times;
  for (const EntryRef entry : entries) {
    if (entry.is_tensor || !catalog.objects[entry.index].value) continue;
    ++summary.objects_read;
    ++times[catalog.objects[entry.index].value.get()];
  }
  std::map<std::string, ForeignName> names;
  for (const auto& [value, count] : times) {
    const std::vector<pickle::Foreign> found = pickle::ForeignNames(value->document);
    for (const pickle::Foreign& foreign : found) {
      ForeignName& name = names.try_emplace(foreign.name, ForeignName{.name = foreign.name}).first->second;
      name.entries += count;
      name.refused = name.refused || foreign.is_attack;
    }
    summary.objects_with_names += found.empty() ? 0 : count;
  }
  for (auto& [text, name] : names) summary.names.push_back(std::move(name));
  return summary;
}

std::optional<Finding> NoteForeignNames(const Catalog& catalog, const std::vector<bool>& selected) {
  std::vector<EntryRef> entries;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (selected[i]) entries.push_back(catalog.entries[i]);
  }
  const ForeignSummary summary = FindForeignNames(catalog, entries);
  if (summary.names.empty()) return std::nullopt;
  std::string text = summary.objects_with_names == 1
                         ? "1 object needs weights_only=False: "
                         : std::to_string(summary.objects_with_names) + " objects need weights_only=False: ";
  const size_t named = std::min(kMostNamed, summary.names.size());
  for (size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + summary.names[i].name;
  if (named < summary.names.size()) text += " and " + std::to_string(summary.names.size() - named) + " more";
  return Finding{.id = "object.needs-weights-only-false",
                 .severity = Severity::kNote,
                 .message = text,
                 .advice =
                     "torch.load(FILE, weights_only=False) imports what they name: for files that you trust; "
                     "--exclude or --objects drop leaves objects out"};
}

}  // namespace dcpctl::ops
