#include "plugin/loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <system_error>

#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/version.h"

namespace dcpctl::plugin {
namespace {

Error Missing(const std::filesystem::path& path, const PluginName& name, const std::string& what) {
  return Error(ErrorKind::kUnsupported, Place{.file = path.string()},
               what + ", expected the plug-in that " + std::string(name.purpose) + " needs")
      .Advise(std::string(name.advice));
}

Error Other(const std::filesystem::path& path, const std::string& what) {
  return Error(ErrorKind::kMismatch, Place{.file = path.string()}, what)
      .Advise("build and install the plug-in together with the program");
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

Result<void> CheckPlugin(const PluginV1& plugin, const std::filesystem::path& path, const PluginName& name) {
  // The layout behind the number may be another, so nothing else is looked at before it is right.
  if (plugin.magic != kMagic) return Fail(Other(path, "is no plug-in of dcpctl"));
  if (plugin.abi_version != kAbiVersion) {
    return Fail(Other(path, "plug-in interface is version " + std::to_string(plugin.abi_version) + ", expected " +
                                std::to_string(kAbiVersion)));
  }
  if (Text(plugin.dcpctl_version) != kVersion) {
    return Fail(Other(
        path, "plug-in was built for dcpctl " + Quote(Text(plugin.dcpctl_version)) + ", expected " + Quote(kVersion)));
  }
  if (Text(plugin.kind) != name.kind || plugin.table == nullptr)
    return Fail(Other(path, "plug-in is " + Quote(Text(plugin.kind)) + ", expected " + Quote(name.kind)));
  return {};
}

}  // namespace

std::filesystem::path PluginFolder(const std::filesystem::path& asked) {
  if (!asked.empty()) return asked;
  if (const char* told = std::getenv("DCPCTL_PLUGIN_DIR"); told != nullptr && *told != '\0') return told;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "dcpctl";
}

Result<const PluginV1*> OpenPlugin(const std::filesystem::path& folder, const PluginName& name) {
  const auto path = folder / (std::string(name.file) + ".so");
  if (std::error_code ignored; !std::filesystem::exists(path, ignored))
    return Fail(Missing(path, name, "is not there"));
  // Its libraries' symbols stay its own: a program that uses this one may have another version of them.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Fail(Missing(path, name, "cannot be loaded: " + Text(dlerror())));
  const auto* plugin = static_cast<const PluginV1*>(dlsym(handle, kPluginSymbol));
  if (plugin == nullptr) return Fail(Other(path, "is no plug-in of dcpctl"));
  DCPCTL_TRY(CheckPlugin(*plugin, path, name));
  return plugin;
}

}  // namespace dcpctl::plugin
