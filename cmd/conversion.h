// What the commands that convert have in common: options, the course of a run, and how the result is shown.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cmd/command.h"
#include "cmd/console.h"
#include "cmd/groups.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {

// For a torch.save file that is made: --flat, --int-keys.
void AddTorchOptions(CLI::App& app, ConvertOptions& options);
// For a DCP directory that is made: --compat.
void AddDcpOptions(CLI::App& app, ConvertOptions& options);
// For all: content, selection, output, run and report.
void AddConversionOptions(CLI::App& app, ConvertOptions& options, ReportOptions& report);

// kUsage for a report and a result that both want standard output.
Result<void> CheckTarget(const std::string& target, const ReportOptions& report, const ConvertOptions& options);

using Conversion = std::function<Result<ConvertReport>(const std::string& source, const std::string& target,
                                                       const ConvertOptions& options)>;
// Runs it under the console's stop token and observer and shows what came out.
Result<ExitStatus> RunConversion(const std::string& source, const std::string& target, ConvertOptions options,
                                 const ReportOptions& report, Console& console, const Conversion& convert);

}  // namespace dcpctl::cmd
