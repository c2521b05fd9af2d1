// Memory of a device as far as the rest of the program knows it: libraries may be told where it is; nobody else reads
// or writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dcpctl/error.h"

namespace dcpctl {

// What can be done with its address.
enum class MemoryKind : uint8_t {
  kOrdinary,  // all that can be done with the program's own
  kCuda,      // it is for libraries that know CUDA
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;
  [[nodiscard]] virtual MemoryKind kind() const = 0;
  [[nodiscard]] virtual std::byte* address() const = 0;
  // For a thread before it gives a library the address: what the library does there is then for the right device.
  virtual Result<void> MakeCurrent() const = 0;
};

// A stretch of it, which is there as long as this is.
struct DevicePart {
  std::shared_ptr<const DeviceMemory> memory;
  uint64_t begin = 0;
  uint64_t bytes = 0;

  [[nodiscard]] std::byte* address() const { return memory->address() + begin; }
  [[nodiscard]] DevicePart Sub(uint64_t at, uint64_t count) const { return {memory, begin + at, count}; }
};

}  // namespace dcpctl
