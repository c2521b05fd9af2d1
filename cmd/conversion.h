// What the commands that convert have in common: options for content, and how the result is shown.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/console.h"
#include "cmd/groups.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {

// --skip-damaged, --objects, --allow-global.
void AddContentOptions(CLI::App& app, ConvertOptions& options);

// `to_stream`: standard output holds the result itself, so its report goes to standard error.
void PrintConversion(const ConvertReport& result, const std::string& source, const std::string& target, bool to_stream,
                     bool dry_run, const ReportOptions& report, Console& console);

}  // namespace dcpctl::cmd
