// Options that several commands share, declared once. See dcpctl(1).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "dcpctl/convert.h"

namespace dcpctl::cmd {

enum class When : uint8_t { kAuto, kAlways, kNever };

struct ReportOptions {
  bool json = false;
  bool quiet = false;
  unsigned verbose = 0;
  When progress = When::kAuto;
  When color = When::kAuto;
};

// --select, --exclude.
void AddSelectionGroup(CLI::App& app, Selection& selection);
// --strip-prefix, --rename, --add-prefix, in the same group.
void AddPrefixOptions(CLI::App& app, Selection& selection);
// --force, --dry-run.
void AddOutputGroup(CLI::App& app, RunOptions& run);
// --jobs, --memory: all that there is to say about reading.
void AddReadGroup(CLI::App& app, RunOptions& run);
// The same, and --device, --reflink.
void AddRunGroup(CLI::App& app, RunOptions& run);
// --json, --quiet, --verbose, --progress, --color, --help.
void AddReportGroup(CLI::App& app, ReportOptions& report);

}  // namespace dcpctl::cmd
