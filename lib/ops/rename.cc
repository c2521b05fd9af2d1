#include "ops/rename.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/quote.h"
#include "ops/dotted.h"

namespace dcpctl::ops {
namespace {

std::optional<uint64_t> AsPosition(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return number;
}

}  // namespace

struct RenameRule::Component {
  std::string text;
  std::optional<uint64_t> position = std::nullopt;  // in a list; always an element of its own
  bool joined = false;                              // to the one before it, by a dot inside one element
};

struct RenameRule::Builder {
  std::vector<Component> components;
  std::optional<bool> gap;  // something was taken out here; whether it was joined throughout

  void Add(Component component) {
    component.joined = component.joined && gap.value_or(true);
    gap.reset();
    components.push_back(std::move(component));
  }
  void Skip(const Component& component) { gap = gap.value_or(true) && component.joined; }
};

Result<RenameRule> RenameRule::Make(const Renaming& renaming) {
  std::string_view from = renaming.from;
  RenameRule rule;
  rule.at_front_ = from.starts_with('^');
  if (rule.at_front_) from.remove_prefix(1);
  from = WithoutTrailingDots(from);
  const std::string_view to = WithoutTrailingDots(renaming.to);
  if (from.empty()) {
    return Fail(Error(ErrorKind::kUsage, "--rename " + Quote(renaming.from + "=" + renaming.to) +
                                             " names nothing to replace, expected FROM=TO")
                    .Advise("--add-prefix puts a name in front of all keys"));
  }
  rule.text_ = from;
  rule.from_ = SplitAtDots(from);
  if (!to.empty()) rule.to_ = SplitAtDots(to);
  const auto begin = std::mismatch(rule.from_.begin(), rule.from_.end(), rule.to_.begin(), rule.to_.end());
  rule.same_front_ = static_cast<size_t>(begin.first - rule.from_.begin());
  const auto end = std::mismatch(rule.from_.rbegin(), std::make_reverse_iterator(begin.first), rule.to_.rbegin(),
                                 std::make_reverse_iterator(begin.second));
  rule.same_back_ = static_cast<size_t>(end.first - rule.from_.rbegin());
  return rule;
}

std::vector<RenameRule::Component> RenameRule::Split(const KeyPath& path) {
  std::vector<Component> components;
  for (const PathElement& element : path) {
    if (const auto* position = std::get_if<uint64_t>(&element)) {
      components.push_back({.text = std::to_string(*position), .position = *position});
      continue;
    }
    bool joined = false;
    for (std::string& part : SplitAtDots(std::get<std::string>(element))) {
      components.push_back({.text = std::move(part), .joined = joined});
      joined = true;
    }
  }
  return components;
}

KeyPath RenameRule::Join(const std::vector<Component>& components) {
  KeyPath path;
  for (const Component& component : components) {
    auto* const before = path.empty() ? nullptr : std::get_if<std::string>(&path.back());
    if (component.position && !path.empty()) {
      path.emplace_back(*component.position);
    } else if (component.joined && before != nullptr) {
      *before += "." + component.text;
    } else {
      path.emplace_back(component.text);  // a position too: the outermost container is a dict
    }
  }
  return path;
}

// Most paths have no such component, and taking them apart costs much more than this.
bool RenameRule::MayBeIn(const KeyPath& path) const {
  const bool is_position = AsPosition(from_[0]).has_value();
  return std::any_of(path.begin(), path.end(), [&](const PathElement& element) {
    const auto* text = std::get_if<std::string>(&element);
    return text == nullptr ? is_position : text->find(from_[0]) != std::string::npos;
  });
}

bool RenameRule::IsAt(const std::vector<Component>& components, size_t at) const {
  if ((at_front_ && at > 0) || components.size() - at < from_.size()) return false;
  return std::equal(from_.begin(), from_.end(), components.begin() + static_cast<std::ptrdiff_t>(at),
                    [](const std::string& text, const Component& component) { return text == component.text; });
}

void RenameRule::Replace(const std::vector<Component>& components, size_t at, Builder& out) const {
  const size_t end = at + from_.size();
  bool inside_element = components[at].joined || (end < components.size() && components[end].joined);
  for (size_t i = at + 1; i < end; ++i) inside_element = inside_element || components[i].joined;

  // What `from` and `to` share at their ends stays as it is; [first, last) goes.
  const size_t first = at + same_front_;
  const size_t last = end - same_back_;
  const size_t added = to_.size() - same_front_ - same_back_;
  const bool joined_before = first < end ? components[first].joined : inside_element;
  for (size_t i = at; i < first; ++i) out.Add(components[i]);
  for (size_t i = 0; i < added; ++i) {
    Component component{.text = to_[same_front_ + i], .joined = i == 0 ? joined_before : inside_element};
    if (added == last - first) {
      component.joined = components[first + i].joined;
      if (components[first + i].position) component.position = AsPosition(component.text);
    }
    out.Add(std::move(component));
  }
  for (size_t i = first; added == 0 && i < last; ++i) out.Skip(components[i]);
  for (size_t i = last; i < end; ++i) {
    Component component = components[i];
    // Where nothing goes, what comes in splits a separator in two.
    if (i == first && added > 0) component.joined = first > at ? joined_before : inside_element;
    out.Add(std::move(component));
  }
}

bool RenameRule::Apply(KeyPath& path) const {
  if (!MayBeIn(path)) return false;
  const std::vector<Component> components = Split(path);
  Builder renamed;
  bool found = false;
  for (size_t i = 0; i < components.size();) {
    if (IsAt(components, i)) {
      found = true;
      Replace(components, i, renamed);
      i += from_.size();
    } else {
      renamed.Add(components[i++]);
    }
  }
  if (found) path = Join(renamed.components);
  return found;
}

void RenameRule::AddCandidates(const KeyPath& path, std::set<std::string>& names) const {
  const std::vector<Component> components = Split(path);
  for (size_t i = 0; i + from_.size() <= components.size() && (i == 0 || !at_front_); ++i) {
    std::string name = components[i].text;
    for (size_t k = 1; k < from_.size(); ++k) name += "." + components[i + k].text;
    names.insert(std::move(name));
  }
}

}  // namespace dcpctl::ops
