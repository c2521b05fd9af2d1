#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/quote.h"
#include "cmd/command.h"

namespace dcpctl::cmd {
namespace {

// Part of the contract, and not yet there.
constexpr std::array<std::string_view, 1> kLater = {"prune"};

std::string WithUnderscores(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

}  // namespace

std::span<const CommandInfo> Commands() {
  static const std::array<CommandInfo, 8> commands = {kDcpToTorch, kTorchToDcp, kReshard, kConvert,
                                                      kInspect,    kVerify,     kCompare, kRepair};
  return commands;
}

Result<const CommandInfo*> FindCommand(std::string_view name) {
  const std::string wanted = WithUnderscores(name);
  std::vector<std::string> names;
  for (const CommandInfo& command : Commands()) {
    if (command.name == wanted) return &command;
    names.emplace_back(command.name);
  }
  if (std::find(kLater.begin(), kLater.end(), wanted) != kLater.end()) {
    return Fail(Error(ErrorKind::kUsage, "command " + wanted + " is not in this version yet")
                    .Advise("`dcpctl --help` lists the commands that are"));
  }
  const std::vector<std::string> near = NearestNames(wanted, names, 1);
  return Fail(
      Error(ErrorKind::kUsage, "unknown command " + Quote(name))
          .Advise((near.empty() ? "" : "did you mean " + near[0] + "? ") + "`dcpctl --help` lists the commands"));
}

}  // namespace dcpctl::cmd
