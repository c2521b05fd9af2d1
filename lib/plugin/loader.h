// Finds and opens plug-ins.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "dcpctl/error.h"
#include "plugin/abi.h"

namespace dcpctl::plugin {

// The folder that plug-ins are in: `asked`, or if that is empty what DCPCTL_PLUGIN_DIR in the environment says, or
// lib/dcpctl beside the folder of the running program.
std::filesystem::path PluginFolder(const std::filesystem::path& asked);

struct PluginName {
  std::string_view kind;     // that its table must be
  std::string_view file;     // without ".so"
  std::string_view purpose;  // for messages: "--dtype"
  std::string_view advice;   // what to install or build
};

// Opens `name` in `folder` and checks that it is one for this program. It stays open until the process ends: the
// libraries below do not all survive being closed. Errors: kUnsupported when it is not there or cannot be loaded, with
// what the loader said; kMismatch when it is one of another version or kind.
Result<const PluginV1*> OpenPlugin(const std::filesystem::path& folder, const PluginName& name);

// The table of a plug-in.
template <typename Table>
Result<const Table*> OpenTable(const std::filesystem::path& folder, const PluginName& name) {
  auto opened = OpenPlugin(folder, name);
  if (!opened) return Fail(std::move(opened).error());
  return static_cast<const Table*>((*opened)->table);
}

}  // namespace dcpctl::plugin
