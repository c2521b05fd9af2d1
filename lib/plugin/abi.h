// What dcpctl and its plug-ins agree on. A plug-in is a shared object of its own that links a library which costs
// start-up time or is not everywhere; dcpctl opens it when, and only when, a command asks for what it does. Between
// the two there are C types and function tables alone: no exception, no container and no allocation of one side is
// the other's to handle, so a plug-in may be built by another compiler and against another C++ library.
//
// Any change of what is below takes another kAbiVersion, and a plug-in of another number is refused.
#pragma once

#include <cstdint>

namespace dcpctl::plugin {

inline constexpr uint32_t kAbiVersion = 3;
inline constexpr uint32_t kMagic = 0x64637061;

// What every plug-in exports as `dcpctl_plugin`. Text ends with a zero byte and lives as long as the program.
struct PluginV1 {
  uint32_t magic = kMagic;
  uint32_t abi_version = kAbiVersion;
  const char* dcpctl_version = nullptr;  // that it was built with
  const char* kind = nullptr;            // which table `table` is: one of the k...Kind below
  const char* library = nullptr;         // what it stands on, with its version: "LibTorch 2.6.0"
  const void* table = nullptr;
};

// Where a function that fails says why: text that ends with a zero byte, cut off where it is too long.
struct ErrorTextV1 {
  char text[256] = {};
};

inline constexpr char kPluginSymbol[] = "dcpctl_plugin";

}  // namespace dcpctl::plugin

// Defines the symbol, in a plug-in.
#define DCPCTL_PLUGIN(kind_text, library_text, function_table)                                                  \
  extern "C" __attribute__((visibility("default"))) const ::dcpctl::plugin::PluginV1 dcpctl_plugin;             \
  const ::dcpctl::plugin::PluginV1 dcpctl_plugin {                                                              \
    .dcpctl_version = DCPCTL_VERSION, .kind = (kind_text), .library = (library_text), .table = (function_table) \
  }
