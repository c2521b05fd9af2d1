#include "ops/key_filter.h"

#include <set>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/result.h"
#include "ops/select.h"

namespace dcpctl::ops {
namespace {

// Keys and the containers that they are in.
std::vector<std::string> NamesOf(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 500'000;
  std::set<std::string> names;
  for (const std::string& key : keys) {
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
      names.insert(key.substr(0, dot));
    names.insert(key);
    if (names.size() >= kMost) break;
  }
  return {names.begin(), names.end()};
}

}  // namespace

KeyFilter::KeyFilter(const Selection& selection) {
  for (const std::string& text : selection.select) select_.push_back({.text = text});
  for (const std::string& text : selection.exclude) exclude_.push_back({.text = text});
}

// Asks every pattern, to know which are never used.
bool KeyFilter::AnyMatches(std::vector<Pattern>& patterns, std::string_view key) {
  bool any = false;
  for (Pattern& pattern : patterns) {
    if (!MatchesKey(pattern.text, key)) continue;
    pattern.used = true;
    any = true;
  }
  return any;
}

bool KeyFilter::Wants(std::string_view key) {
  const bool in = AnyMatches(select_, key) || select_.empty();
  const bool out = AnyMatches(exclude_, key);
  return in && !out;
}

Result<void> KeyFilter::CheckUsed(const std::vector<std::string>& keys) const {
  for (const auto& [option, patterns] : {std::pair("--select ", &select_), std::pair("--exclude ", &exclude_)}) {
    for (const Pattern& pattern : *patterns) {
      if (pattern.used) continue;
      std::string near;
      for (const std::string& name : NearestNames(pattern.text, NamesOf(keys)))
        near += (near.empty() ? "" : ", ") + Quote(name);
      return Fail(Error(ErrorKind::kNotFound, option + Quote(pattern.text) + " matches no key")
                      .Advise(near.empty() ? "`dcpctl inspect` lists the keys" : "did you mean " + near + "?"));
    }
  }
  return {};
}

}  // namespace dcpctl::ops
