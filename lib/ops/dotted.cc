#include "ops/dotted.h"

namespace dcpctl::ops {

std::vector<std::string> SplitAtDots(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

std::string_view WithoutTrailingDots(std::string_view prefix) {
  while (prefix.ends_with('.')) prefix.remove_suffix(1);
  return prefix;
}

}  // namespace dcpctl::ops
