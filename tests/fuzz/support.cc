#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fuzz/targets.h"

namespace dcpctl::fuzz {

Limits SmallLimits() {
  Limits limits;
  limits.pickle_bytes = uint64_t{1} << 20;
  limits.zip_directory_bytes = uint64_t{64} << 10;
  limits.entries = 10'000;
  limits.name_bytes = 1000;  // keys may stand for much more than the input has
  limits.object_bytes = uint64_t{1} << 20;
  limits.ranks = 1000;
  limits.boxes = 10'000;
  return limits;
}

MemorySource SourceOf(Bytes input) { return {"input", std::vector<std::byte>(input.begin(), input.end())}; }

void Require(bool holds, std::string_view what, const std::string& detail) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s: %s\n", static_cast<int>(what.size()), what.data(), detail.c_str());
  std::abort();
}

}  // namespace dcpctl::fuzz
