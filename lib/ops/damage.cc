#include "ops/damage.h"

#include "base/quote.h"
#include "base/text_hash.h"

namespace dcpctl::ops {

Error ToError(const Catalog& catalog, const Finding& finding) {
  Place place{.file = finding.file.empty() ? catalog.root.string() : (catalog.root / finding.file).string(),
              .offset = finding.offset};
  return Error(ErrorKind::kCorrupt, std::move(place), finding.message).In(Quote(finding.key)).Advise(finding.advice);
}

Result<uint64_t> HandleDamage(const Catalog& catalog, bool skip, std::vector<bool>& selected) {
  TextViewMap<const Finding*> damaged;
  for (const Finding& finding : catalog.findings) {
    if (finding.severity == Severity::kError && !finding.key.empty()) damaged.try_emplace(finding.key, &finding);
  }
  uint64_t left_out = 0;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i]) continue;
    const auto found = damaged.find(catalog.KeyOf(catalog.entries[i]));
    if (found == damaged.end()) continue;
    if (!skip) return Fail(ToError(catalog, *found->second));
    selected[i] = false;
    ++left_out;
  }
  return left_out;
}

Place PlaceBelow(const std::filesystem::path& root, const Error& error) {
  Place place = error.place();
  if (place.file.starts_with(root.string()))
    place.file = std::filesystem::path(place.file).lexically_relative(root).string();
  if (place.file == ".") place.file.clear();
  return place;
}

}  // namespace dcpctl::ops
