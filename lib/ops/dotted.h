// Names of components joined by dots, as keys, patterns and prefixes are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcpctl::ops {

// One component more than there are dots.
std::vector<std::string> SplitAtDots(std::string_view text);

// A prefix may be given with the dot that follows it.
std::string_view WithoutTrailingDots(std::string_view prefix);

}  // namespace dcpctl::ops
