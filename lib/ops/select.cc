#include "ops/select.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/result.h"
#include "ops/dotted.h"
#include "ops/glob.h"
#include "ops/rename.h"

namespace dcpctl::ops {
namespace {

using Components = std::vector<std::string>;

constexpr std::string_view kAnyComponents = "**";

// Keys and containers that a suggestion is looked for in: enough for any model, and the search stays short.
constexpr size_t kMaxCandidates = 500'000;

// Whether `pattern` matches the first components of `key`, any number of them.
bool MatchesFront(std::span<const std::string> pattern, std::span<const std::string> key) {
  if (pattern.empty()) return true;
  if (pattern[0] == kAnyComponents) {
    for (size_t skipped = 0; skipped <= key.size(); ++skipped) {
      if (MatchesFront(pattern.subspan(1), key.subspan(skipped))) return true;
    }
    return false;
  }
  return !key.empty() && MatchesGlob(pattern[0], key[0]) && MatchesFront(pattern.subspan(1), key.subspan(1));
}

// A pattern that is used on many keys.
struct Pattern {
  std::string text;
  Components components;
  bool used = false;

  bool Matches(std::string_view key, const Components& parts) {
    const bool matches = key == text || MatchesFront(components, parts);
    used = used || matches;
    return matches;
  }
};

std::vector<Pattern> MakePatterns(const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  for (const std::string& text : texts) patterns.push_back({text, SplitAtDots(text)});
  return patterns;
}

// Every key and every container of one.
std::vector<std::string> CandidateNames(const Catalog& catalog) {
  std::set<std::string_view> names;
  for (const EntryRef entry : catalog.entries) {
    const std::string_view key = catalog.KeyOf(entry);
    names.insert(key);
    for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
      names.insert(key.substr(0, dot));
    if (names.size() >= kMaxCandidates) break;
  }
  return {names.begin(), names.end()};
}

Error NoSuchKey(const Catalog& catalog, std::string_view option, std::string_view text,
                const std::vector<std::string>& candidates) {
  std::string near;
  for (const std::string& name : NearestNames(text, candidates)) near += (near.empty() ? "" : ", ") + Quote(name);
  return Error(ErrorKind::kNotFound, {.file = catalog.root.string()},
               std::string(option) + " " + Quote(text) + " matches no key")
      .Advise(near.empty() ? "`dcpctl inspect` lists the keys" : "did you mean " + near + "?");
}

Result<void> CheckUsed(const Catalog& catalog, const std::vector<Pattern>& patterns, std::string_view option) {
  for (const Pattern& pattern : patterns) {
    if (!pattern.used) return Fail(NoSuchKey(catalog, option, pattern.text, CandidateNames(catalog)));
  }
  return {};
}

std::string TextOf(const PathElement& element) {
  const auto* text = std::get_if<std::string>(&element);
  return text ? *text : std::to_string(std::get<uint64_t>(element));
}

KeyPath StripPrefix(const KeyPath& path, std::string_view prefix) {
  if (prefix.empty()) return path;
  const std::string joined = JoinPath(path);
  if (joined.size() <= prefix.size() || !joined.starts_with(prefix) || joined[prefix.size()] != '.') return path;
  size_t remove = prefix.size() + 1;
  size_t first = 0;
  for (; remove > TextOf(path[first]).size(); ++first) remove -= TextOf(path[first]).size() + 1;
  KeyPath stripped(path.begin() + static_cast<std::ptrdiff_t>(first), path.end());
  // Only a str holds dots, so only a str is cut. The outermost container is a dict: its keys are str.
  stripped[0] = TextOf(stripped[0]).substr(remove);
  return stripped;
}

KeyPath AddPrefix(KeyPath path, const Selection& selection) {
  const std::string_view add = WithoutTrailingDots(selection.add_prefix);
  if (add.empty()) return path;
  KeyPath prefixed;
  for (std::string& part : SplitAtDots(add)) prefixed.emplace_back(std::move(part));
  prefixed.insert(prefixed.end(), std::make_move_iterator(path.begin()), std::make_move_iterator(path.end()));
  return prefixed;
}

Error NothingToRename(const Catalog& catalog, const RenameRule& rule, const std::vector<KeyPath>& paths) {
  if (rule.from().find_first_of("*?[") != std::string::npos) {
    return Error(ErrorKind::kNotFound, {.file = catalog.root.string()},
                 "--rename " + Quote(rule.from()) + " matches no key")
        .Advise("--rename takes names as they are, no patterns");
  }
  std::set<std::string> names;
  for (const KeyPath& path : paths) {
    rule.AddCandidates(path, names);
    if (names.size() >= kMaxCandidates) break;
  }
  return NoSuchKey(catalog, "--rename", rule.from(), {names.begin(), names.end()});
}

// One rule on all paths.
Result<void> ApplyToAll(const Catalog& catalog, const Renaming& renaming, const std::vector<std::string_view>& old_keys,
                        std::vector<KeyPath>& paths) {
  DCPCTL_ASSIGN(const RenameRule rule, RenameRule::Make(renaming));
  bool found = false;
  for (size_t i = 0; i < paths.size(); ++i) {
    found = rule.Apply(paths[i]) || found;
    if (!paths[i].empty()) continue;
    return Fail(Error(ErrorKind::kMismatch, "--rename " + Quote(renaming.from + "=" + renaming.to) +
                                                " would leave no name for " + Quote(old_keys[i]))
                    .Advise("give it another name, or leave it out with --exclude"));
  }
  if (!found) return Fail(NothingToRename(catalog, rule, paths));
  return {};
}

struct Renamed {
  const KeyPath* path;
  std::string_view old_key;
};

Result<void> RefuseBoth(const Renamed& a, const Renamed& b, const std::string& what) {
  return Fail(Error(ErrorKind::kMismatch, Quote(a.old_key) + " and " + Quote(b.old_key) + " would both become " + what)
                  .Advise("choose other names, or leave one out with --exclude"));
}

// Neighbours in the order of paths: equal, one inside the other, or a dict key beside a list position.
Result<void> CheckNeighbours(const Renamed& a, const Renamed& b) {
  const auto [end_a, end_b] = std::mismatch(a.path->begin(), a.path->end(), b.path->begin(), b.path->end());
  const KeyPath common(a.path->begin(), end_a);
  if (end_a == a.path->end() && end_b == b.path->end()) return RefuseBoth(a, b, Quote(JoinPath(common)));
  if (end_a == a.path->end() || end_b == b.path->end()) {
    return RefuseBoth(a, b, Quote(JoinPath(common)) + ", one as a value and one as a container");
  }
  if (end_a->index() != end_b->index())
    return RefuseBoth(a, b, Quote(JoinPath(common)) + ", one as a dict and one as a list");
  return {};
}

Result<void> CheckDistinct(std::vector<Renamed> renamed) {
  std::sort(renamed.begin(), renamed.end(), [](const Renamed& a, const Renamed& b) { return *a.path < *b.path; });
  for (size_t i = 1; i < renamed.size(); ++i) DCPCTL_TRY(CheckNeighbours(renamed[i - 1], renamed[i]));
  // Different paths may spell one flat key: ("a.b") and ("a", "b").
  std::vector<std::pair<std::string, size_t>> flat;
  for (size_t i = 0; i < renamed.size(); ++i) flat.emplace_back(JoinPath(*renamed[i].path), i);
  std::sort(flat.begin(), flat.end());
  for (size_t i = 1; i < flat.size(); ++i) {
    if (flat[i].first == flat[i - 1].first) {
      DCPCTL_TRY(RefuseBoth(renamed[flat[i - 1].second], renamed[flat[i].second], Quote(flat[i].first)));
    }
  }
  return {};
}

}  // namespace

bool MatchesKey(std::string_view pattern, std::string_view key) {
  return pattern == key || MatchesFront(SplitAtDots(pattern), SplitAtDots(key));
}

Result<std::vector<bool>> SelectEntries(const Catalog& catalog, const Selection& selection) {
  std::vector<bool> selected(catalog.entries.size(), true);
  if (selection.select.empty() && selection.exclude.empty()) return selected;
  std::vector<Pattern> select = MakePatterns(selection.select);
  std::vector<Pattern> exclude = MakePatterns(selection.exclude);
  bool any = false;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    const std::string_view key = catalog.KeyOf(catalog.entries[i]);
    const Components parts = SplitAtDots(key);
    // Not any_of(): each pattern has to be asked, to know which are never used.
    const auto count = [&](std::vector<Pattern>& patterns) {
      return std::accumulate(patterns.begin(), patterns.end(), 0,
                             [&](int sum, Pattern& p) { return sum + (p.Matches(key, parts) ? 1 : 0); });
    };
    const bool in = count(select) > 0 || select.empty();
    const bool out = count(exclude) > 0;
    selected[i] = in && !out;
    any = any || selected[i];
  }
  DCPCTL_TRY(CheckUsed(catalog, select, "--select"));
  DCPCTL_TRY(CheckUsed(catalog, exclude, "--exclude"));
  if (!any) return Fail({.file = catalog.root.string()}, ErrorKind::kNotFound, "the selection leaves no entry");
  return selected;
}

TextSet KeysOf(const Catalog& catalog, const std::vector<bool>& selected) {
  TextSet keys;
  for (size_t i = 0; i < selected.size(); ++i) {
    if (selected[i]) keys.emplace(catalog.KeyOf(catalog.entries[i]));
  }
  return keys;
}

bool RenamesAny(const Selection& selection) {
  return !selection.strip_prefix.empty() || !selection.rename.empty() || !selection.add_prefix.empty();
}

// A torch.save file may have one key twice, as text and as a number.
bool AreNamedByKeys(const Catalog& catalog) { return catalog.format == Format::kDcp && catalog.paths.empty(); }

KeyPath NewPath(const KeyPath& path, const Selection& selection) {
  KeyPath renamed = StripPrefix(path, WithoutTrailingDots(selection.strip_prefix));
  for (const Renaming& renaming : selection.rename) {
    if (const auto rule = RenameRule::Make(renaming)) rule->Apply(renamed);
  }
  return AddPrefix(std::move(renamed), selection);
}

Result<std::vector<KeyPath>> RenamePaths(const Catalog& catalog, const std::vector<bool>& selected,
                                         const Selection& selection) {
  std::vector<KeyPath> paths;
  std::vector<std::string_view> old_keys;
  const std::string_view prefix = WithoutTrailingDots(selection.strip_prefix);
  bool stripped = prefix.empty();
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i]) continue;
    const EntryRef entry = catalog.entries[i];
    const KeyPath path = catalog.KeyPathOf(entry);
    paths.push_back(StripPrefix(path, prefix));
    stripped = stripped || paths.back() != path;
    old_keys.push_back(catalog.KeyOf(entry));
  }
  // A prefix that is nowhere is a slip; the result would look right and not load.
  if (!stripped) return Fail(NoSuchKey(catalog, "--strip-prefix", selection.strip_prefix, CandidateNames(catalog)));
  for (const Renaming& renaming : selection.rename) DCPCTL_TRY(ApplyToAll(catalog, renaming, old_keys, paths));
  for (KeyPath& path : paths) path = AddPrefix(std::move(path), selection);
  if (AreNamedByKeys(catalog) && !RenamesAny(selection)) return paths;
  std::vector<Renamed> renamed;
  for (size_t i = 0; i < paths.size(); ++i) renamed.push_back({&paths[i], old_keys[i]});
  auto distinct = CheckDistinct(std::move(renamed));
  if (!distinct) return Fail(std::move(distinct).error().At({catalog.root.string()}));
  return paths;
}

}  // namespace dcpctl::ops
