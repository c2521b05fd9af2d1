#include "mesh/rule_finder.h"

#include <set>
#include <string>

#include "base/nearest.h"
#include "base/quote.h"

namespace dcpctl::mesh {
namespace {

// Keys and containers that a suggestion is looked for in: enough for any model, and the search stays short.
constexpr size_t kMaxCandidates = 500'000;

std::vector<std::string> CandidateNames(std::span<const LayoutEntry> entries) {
  std::set<std::string_view> names;
  for (const LayoutEntry& entry : entries) {
    if (!entry.is_tensor) continue;
    const std::string_view key = entry.key;
    names.insert(key);
    for (size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) names.insert(key.substr(0, dot));
    if (names.size() >= kMaxCandidates) break;
  }
  return {names.begin(), names.end()};
}

}  // namespace

size_t RuleFinder::Find(std::string_view key) {
  size_t found = rules_.size();
  for (size_t r = 0; r < rules_.size(); ++r) {
    // A later rule is only asked to learn whether it matches anything at all.
    if (found < rules_.size() && matched_[r]) continue;
    if (!matches_(rules_[r].pattern, key)) continue;
    matched_[r] = true;
    if (found == rules_.size()) found = r;
  }
  return found;
}

Result<void> RuleFinder::CheckAllMatched(std::span<const LayoutEntry> entries) const {
  for (size_t r = 0; r < rules_.size(); ++r) {
    if (matched_[r]) continue;
    std::string near;
    for (const std::string& name : NearestNames(rules_[r].pattern, CandidateNames(entries)))
      near += (near.empty() ? "" : ", ") + Quote(name);
    return Fail(Error(ErrorKind::kNotFound, rules_[r].origin + " matches no tensor, expected the pattern " +
                                                Quote(rules_[r].pattern) + " to be a key")
                    .Advise(near.empty() ? "`dcpctl inspect` lists the keys" : "did you mean " + near + "?"));
  }
  return {};
}

}  // namespace dcpctl::mesh
