// What is printed from the options of a command: --help and the manual's OPTIONS section. The layout is ours,
// so it does not change with CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/command.h"

namespace dcpctl::cmd {

// `dcpctl --help`
std::string ProgramHelp();
// `dcpctl COMMAND --help`
std::string CommandHelp(const CommandInfo& command, const CLI::App& app);
// mdoc(7) text of an OPTIONS section, without its heading.
std::string ManualOptions(const CLI::App& app);

}  // namespace dcpctl::cmd
