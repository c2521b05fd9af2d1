// What started this process as one of several, as far as the environment tells before any communication library is
// loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dcpctl::plugin {

struct Launch {
  std::string library;  // that its processes talk through: "openmpi", "mpich"; empty when nothing tells
  std::optional<uint64_t> size = std::nullopt;
  std::optional<uint64_t> rank = std::nullopt;
  std::optional<uint64_t> local_rank = std::nullopt;  // among those of the same node
};

// Returns null for what is not set.
using Environment = std::function<const char*(const char* name)>;
Launch ReadLaunch(const Environment& environment);
// The environment of this process.
Launch ReadLaunch();

}  // namespace dcpctl::plugin
