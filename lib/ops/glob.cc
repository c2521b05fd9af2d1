#include "ops/glob.h"

#include <algorithm>
#include <optional>

#include "base/quote.h"

namespace dcpctl::ops {
namespace {

// Takes one character off the front: a UTF-8 sequence, or a byte that begins none.
std::string_view TakeCharacter(std::string_view& text) {
  const size_t length = std::max<size_t>(1, Utf8SequenceLength(text));
  const std::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

// UTF-8 sorts by code point, byte for byte, once shorter sequences come first.
bool InInterval(std::string_view character, std::string_view low, std::string_view high) {
  const auto order = [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  return !order(character, low) && !order(high, character);
}

// Whether the set that begins at `set` ("[...") holds `character`; moves `set` past its end. Nothing, and no
// move, when it is not closed.
std::optional<bool> MatchSet(std::string_view& set, std::string_view character) {
  std::string_view rest = set.substr(1);
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  bool found = false;
  for (bool first = true; first || !rest.starts_with(']'); first = false) {
    if (rest.starts_with('\\') && rest.size() > 1) rest.remove_prefix(1);
    if (rest.empty()) return std::nullopt;
    const std::string_view low = TakeCharacter(rest);
    std::string_view high = low;
    if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = TakeCharacter(rest);
    }
    found = found || InInterval(character, low, high);
    if (rest.empty()) return std::nullopt;
  }
  set = rest.substr(1);
  return found != negated;
}

// Whether the front of `pattern`, no `*`, matches the first character of `text`; takes both off.
bool MatchOne(std::string_view& pattern, std::string_view& text) {
  if (text.empty()) return false;
  std::string_view rest = text;
  const std::string_view character = TakeCharacter(rest);
  if (pattern[0] == '[') {
    if (const auto in_set = MatchSet(pattern, character)) {
      text = rest;
      return *in_set;
    }
  }
  if (pattern[0] == '?') {
    pattern.remove_prefix(1);
    text = rest;
    return true;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  const bool same = TakeCharacter(pattern) == character;
  text = rest;
  return same;
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  // After a mismatch only the last `*` has to be tried with one character more: linear in space, and at worst
  // pattern times text in time.
  std::optional<std::string_view> after_star;
  std::string_view star_text;
  while (!pattern.empty() || !text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      after_star = pattern;
      star_text = text;
    } else if (pattern.empty() || !MatchOne(pattern, text)) {
      if (!after_star || star_text.empty()) return false;
      TakeCharacter(star_text);
      pattern = *after_star;
      text = star_text;
    }
  }
  return true;
}

}  // namespace dcpctl::ops
