// A plug-in whose table is a number. What is wrong with it comes from the build.
#include "plugin/abi.h"

#ifdef FAKE_OTHER_VERSION
#undef DCPCTL_VERSION
#define DCPCTL_VERSION "0.0.0"
#endif

#ifdef FAKE_OTHER_ABI
extern "C" __attribute__((visibility("default"))) const dcpctl::plugin::PluginV1 dcpctl_plugin;
const dcpctl::plugin::PluginV1 dcpctl_plugin{.abi_version = dcpctl::plugin::kAbiVersion + 1};
#else
namespace {
#ifdef FAKE_OTHER_KIND
constexpr char kKind[] = "other";
#else
constexpr char kKind[] = "fake";
#endif
constexpr int kTable = 42;
}  // namespace

DCPCTL_PLUGIN(kKind, "Fake 1.2.3", &kTable);
#endif
