// What a command is: a name, options that fill public option structs, and one library call whose result is
// rendered. One command per file; registry.cc lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/console.h"
#include "dcpctl/error.h"

namespace dcpctl::cmd {

enum ExitStatus : int {
  kDone = 0,
  kFound = 1,          // ran to the end and found damage or differences
  kWrong = 2,          // the command line is wrong
  kFailed = 3,         // could not do it
  kInterrupted = 130,  // the caller knows by which signal
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void Declare(CLI::App& app) = 0;
  // Options that do not go together. Errors: kUsage. Like Declare, it opens no file.
  [[nodiscard]] virtual Result<void> Check() const { return {}; }
  virtual Result<ExitStatus> Run(Console& console) = 0;
  [[nodiscard]] virtual const ReportOptions& report() const = 0;
};

struct CommandInfo {
  std::string_view name;
  std::string_view arguments;  // for the usage line
  std::string_view summary;
  std::unique_ptr<Command> (*make)();
};

// The commands of this version, in the order of --help.
std::span<const CommandInfo> Commands();
// By name, `-` and `_` alike. Errors: kUsage, with the nearest name, or saying that a later version has it.
Result<const CommandInfo*> FindCommand(std::string_view name);

extern const CommandInfo kCompare;
extern const CommandInfo kConvert;
extern const CommandInfo kDcpToTorch;
extern const CommandInfo kInspect;
extern const CommandInfo kRepair;
extern const CommandInfo kReshard;
extern const CommandInfo kTorchToDcp;
extern const CommandInfo kVerify;

// Runs a whole command line, program name left out, and prints its error if it has one. 130 when it was
// stopped through the console.
int Dispatch(std::vector<std::string> arguments, Console& console);

}  // namespace dcpctl::cmd
