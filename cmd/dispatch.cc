#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "cmd/command.h"
#include "cmd/completion.h"
#include "cmd/help.h"
#include "cmd/options.h"
#include "cmd/status.h"
#include "dcpctl/version.h"

namespace dcpctl::cmd {
namespace {

Result<ExitStatus> RunCommand(const CommandInfo& info, std::vector<std::string> arguments, Console& console) {
  CLI::App app;
  const std::unique_ptr<Command> command = info.make();
  command->Declare(app);
  DCPCTL_ASSIGN(const Parsed parsed, ParseArguments(app, info.name, std::move(arguments)));
  if (parsed == Parsed::kHelp) {
    console.out() << CommandHelp(info, app);
    return kDone;
  }
  console.Configure(command->report());
  DCPCTL_TRY(command->Check());
  return command->Run(console);
}

// For packagers and for the manual; in no help text.
Result<ExitStatus> PrintManualOptions(const std::vector<std::string>& arguments, Console& console) {
  if (arguments.size() != 1) return Fail(ErrorKind::kUsage, "man-options takes the name of a command");
  DCPCTL_ASSIGN(const CommandInfo* info, FindCommand(arguments[0]));
  CLI::App app;
  const std::unique_ptr<Command> command = info->make();
  command->Declare(app);
  console.out() << ManualOptions(app);
  return kDone;
}

Result<ExitStatus> PrintCompletion(const std::vector<std::string>& arguments, Console& console) {
  DCPCTL_ASSIGN(const std::string script, CompletionScript(arguments.size() == 1 ? arguments[0] : ""));
  console.out() << script;
  return kDone;
}

Result<ExitStatus> RunLine(std::vector<std::string> arguments, Console& console) {
  const std::string name = arguments[0];
  arguments.erase(arguments.begin());
  if (name == "-h" || name == "--help" || (name == "help" && arguments.empty())) {
    console.out() << ProgramHelp();
    return kDone;
  }
  if (name == "--version") {
    console.out() << "dcpctl " << kVersion << "\n";
    return kDone;
  }
  if (name == "help") return RunLine({arguments[0], "--help"}, console);
  if (name == "man-options") return PrintManualOptions(arguments, console);
  if (name == "completion") return PrintCompletion(arguments, console);
  if (name.size() > 1 && name[0] == '-') {
    return Fail(Error(ErrorKind::kUsage, "unknown option " + Escape(name) + " before the command")
                    .Advise("options come after the name of a command; `dcpctl --help` lists the commands"));
  }
  DCPCTL_ASSIGN(const CommandInfo* info, FindCommand(name));
  return RunCommand(*info, std::move(arguments), console);
}

}  // namespace

int Dispatch(std::vector<std::string> arguments, Console& console) {
  if (arguments.empty()) {
    console.Say(ProgramHelp());
    return kWrong;
  }
  const Result<ExitStatus> status = RunLine(std::move(arguments), console);
  if (status) return *status;
  console.Report(status.error());
  return StatusOf(status.error());
}

}  // namespace dcpctl::cmd
