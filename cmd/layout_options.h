// --world-size, --mesh, --placement, --layout, --like: how a checkpoint is cut over ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "dcpctl/convert.h"

namespace dcpctl::cmd {

struct LayoutArguments {
  unsigned world_size = 0;
  std::string mesh;
  std::vector<std::string> placements;
  std::string file;
  std::string like;
  CLI::Option* world_size_option = nullptr;
};

void AddLayoutOptions(CLI::App& app, LayoutArguments& arguments);
// Whether any is given.
bool HasLayout(const LayoutArguments& arguments);
// kUsage for two of them, for rules without a mesh, and for no ranks.
Result<void> CheckLayout(const LayoutArguments& arguments);
LayoutOptions LayoutOf(const LayoutArguments& arguments);

}  // namespace dcpctl::cmd
