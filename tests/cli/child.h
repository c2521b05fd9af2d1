// Runs a shell command in a process group of its own, with nothing to read on standard input, and kills the
// whole group when its time is over.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace dcpctl::golden {

struct ChildResult {
  int exit_status = 0;  // 128 + N when signal N ended it, as a shell says it
  bool timed_out = false;
  std::string out;
  std::string err;
};

// `environment` holds NAME=VALUE entries and is all that the command sees.
[[nodiscard]] ChildResult RunShell(const std::string& command, const std::filesystem::path& folder,
                                   const std::vector<std::string>& environment, std::chrono::milliseconds time_limit);

}  // namespace dcpctl::golden
