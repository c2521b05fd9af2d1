// Suggestions for a name that was not found.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dcpctl {

// Up to `most` of `candidates`, nearest first by edit distance; only those close enough to be a slip.
std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> candidates, size_t most = 3);

}  // namespace dcpctl
