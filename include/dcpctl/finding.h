// What a check has to say about an input: damage, oddities, notes. A Finding is data; renderers print it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcpctl {

enum class Severity : uint8_t { kNote, kWarning, kError };

struct Finding {
  std::string id;  // stable, "dcp.file-missing"
  Severity severity = Severity::kNote;
  std::string file = {};  // empty: the checkpoint as a whole
  std::optional<uint64_t> offset = std::nullopt;
  std::string key = {};
  std::string message;
  std::string advice = {};
};

[[nodiscard]] std::string_view Name(Severity severity);

using Findings = std::vector<Finding>;

}  // namespace dcpctl
