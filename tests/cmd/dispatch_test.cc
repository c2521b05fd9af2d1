// Whole command lines that open no file: help, versions, wrong ones, and what is printed from the options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cmd/command.h"
#include "dcpctl/version.h"

namespace dcpctl::cmd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct CommandRun {
  std::ostringstream out;
  std::ostringstream err;
  int status;

  explicit CommandRun(std::vector<std::string> arguments, Terminal terminal = {}) {
    Console console(out, err, std::move(terminal));
    status = Dispatch(std::move(arguments), console);
  }
};

TEST(Dispatch, NothingIsAWrongCommandLine) {  // C02: never "done" when nothing was done
  const CommandRun run({});
  EXPECT_EQ(run.status, kWrong);
  EXPECT_EQ(run.out.str(), "");
  EXPECT_THAT(run.err.str(), HasSubstr("Usage: dcpctl COMMAND"));
}

TEST(Dispatch, VersionAndHelpAreResults) {
  EXPECT_EQ(CommandRun({"--version"}).out.str(), "dcpctl " + std::string(kVersion) + "\n");
  for (const char* help : {"-h", "--help", "help"}) EXPECT_THAT(CommandRun({help}).out.str(), HasSubstr("  inspect "));
  EXPECT_EQ(CommandRun({"help", "inspect"}).out.str(), CommandRun({"inspect", "--help"}).out.str());
}

TEST(Dispatch, HyphensInCommandNamesAreUnderscores) {
  EXPECT_EQ(CommandRun({"dcp-to-torch", "--help"}).out.str(), CommandRun({"dcp_to_torch", "--help"}).out.str());
}

TEST(Dispatch, UnknownCommandsNameTheNearest) {
  const CommandRun run({"inspekt", "x"});
  EXPECT_EQ(run.status, kWrong);
  EXPECT_EQ(run.err.str(),
            "dcpctl: error: unknown command \"inspekt\"\n  did you mean inspect? `dcpctl --help` lists the commands\n");
}

TEST(Dispatch, CommandsToComeSaySo) {
  const CommandRun run({"prune", "a", "b"});
  EXPECT_EQ(run.status, kWrong);
  EXPECT_THAT(run.err.str(), StartsWith("dcpctl: error: command prune is not in this version yet\n"));
}

TEST(Dispatch, OptionsThatDoNotGoTogether) {
  EXPECT_EQ(CommandRun({"inspect", "x", "--tree", "--key="}).status, kWrong);
  const CommandRun run({"dcp_to_torch", "x", "-", "--json"});
  EXPECT_EQ(run.status, kWrong);
  EXPECT_THAT(run.err.str(), HasSubstr("--json and - both want standard output"));
}

TEST(Dispatch, NoArchiveGoesToATerminal) {
  const CommandRun run({"dcp_to_torch", "x", "-"}, {.out = true});
  EXPECT_EQ(run.status, kWrong);
  EXPECT_THAT(run.err.str(), HasSubstr("to a terminal"));
}

TEST(Dispatch, CompletionKnowsCommandsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CommandRun run({"completion", shell});
    EXPECT_EQ(run.status, kDone);
    EXPECT_THAT(run.out.str(), HasSubstr("dcp_to_torch")) << shell;
    EXPECT_THAT(run.out.str(), HasSubstr("skip-damaged")) << shell;
  }
  EXPECT_EQ(CommandRun({"completion", "csh"}).status, kWrong);
}

// The text between `.Sh OPTIONS` and the next section.
std::string OptionsSection(const std::string& page) {
  std::ifstream file(std::string(DCPCTL_SOURCE_DIR) + "/man/" + page);
  std::string section;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(".Sh ")) {
      inside = line == ".Sh OPTIONS";
    } else if (inside) {
      section += line + "\n";
    }
  }
  return section;
}

TEST(Manual, OptionsAreThoseOfTheProgram) {
  for (const CommandInfo& command : Commands()) {
    const std::string name(command.name);
    EXPECT_EQ(OptionsSection("dcpctl-" + name + ".1"), CommandRun({"man-options", name}).out.str())
        << "replace the OPTIONS section with what `dcpctl man-options " << name << "` prints";
  }
}

}  // namespace
}  // namespace dcpctl::cmd
