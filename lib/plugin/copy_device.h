// A device with memory of its own that copies bytes there: the function table of the plug-in of kind "copy-device".
// A lane is memory on the device and an order of commands; lanes run beside each other. Functions may be called on
// many threads at once, those of one lane on one at a time, but for `address` and `make_current`.
#pragma once

#include <cstdint>

#include "plugin/abi.h"

namespace dcpctl::plugin {

inline constexpr char kCopyDeviceKind[] = "copy-device";

// One level of a walk over a box, in bytes: so many steps of these lengths.
struct CopyLevelV1 {
  uint64_t count = 0;
  uint64_t from_step = 0;
  uint64_t to_step = 0;
};

// A box of runs that lie apart on both sides. Places are bytes of a lane's memory.
struct BoxCopyV1 {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t run_bytes = 0;
  const CopyLevelV1* levels = nullptr;  // from the slowest to the fastest
  uint64_t level_count = 0;
};

// What a lane's memory is to libraries that are told its address.
inline constexpr int32_t kOrdinaryMemory = 0;  // what the program's own is
inline constexpr int32_t kCudaMemory = 1;      // for those that know CUDA

// Functions that can fail return 0 when they did not. Commands (upload, copy, download) only begin what they say: it is
// done, in the order of the calls, when wait() has returned. Until then memory of the program that they were given must
// stay as it is.
struct CopyDeviceV1 {
  // Number `ordinal` of those that there are.
  int (*open)(uint64_t ordinal, void** device, ErrorTextV1* error) = nullptr;
  void (*close)(void* device) = nullptr;
  // How many there are.
  int (*count)(uint64_t* devices, ErrorTextV1* error) = nullptr;
  // Makes copies from and to memory of the program faster, if it can be done. Not while commands use it.
  void (*pin)(void* device, void* memory, uint64_t bytes) = nullptr;
  void (*unpin)(void* device, void* memory) = nullptr;
  int (*open_lane)(void* device, uint64_t bytes, void** lane, ErrorTextV1* error) = nullptr;
  void (*close_lane)(void* lane) = nullptr;
  int (*upload)(void* lane, uint64_t to, const void* from, uint64_t bytes, ErrorTextV1* error) = nullptr;
  int (*copy)(void* lane, const BoxCopyV1* box, ErrorTextV1* error) = nullptr;
  int (*download)(void* lane, void* to, uint64_t from, uint64_t bytes, ErrorTextV1* error) = nullptr;
  int (*wait)(void* lane, ErrorTextV1* error) = nullptr;
  int32_t (*memory_kind)(void* device) = nullptr;
  // Of the first byte of a lane's memory. A library may write there, while no command uses the place.
  void* (*address)(void* lane) = nullptr;
  // For the thread that calls such a library, which need not be the lane's.
  int (*make_current)(void* lane, ErrorTextV1* error) = nullptr;
};

}  // namespace dcpctl::plugin
