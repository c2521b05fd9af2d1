// Puts tiles together in a device's memory: bytes that were read into a thread's scratch go up, or come there by
// another way, are spread over the tile there, and the whole tile comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/device_memory.h"
#include "dcpctl/error.h"
#include "model/copy_loop.h"
#include "plugin/device.h"

namespace dcpctl::engine {

// For one thread. On the device lie a copy of the scratch and, behind it, the tile.
class DeviceTiles {
 public:
  static Result<std::unique_ptr<DeviceTiles>> Open(plugin::Device& device, std::span<std::byte> scratch,
                                                   uint64_t tile_bytes);

  DeviceTiles(std::shared_ptr<plugin::DeviceLane> lane, std::span<std::byte> scratch)
      : lane_(std::move(lane)), scratch_(scratch) {}
  DeviceTiles(const DeviceTiles&) = delete;
  DeviceTiles& operator=(const DeviceTiles&) = delete;
  // Waits: others may keep the lane, but not the scratch.
  ~DeviceTiles() { Idle(); }

  // Begins to bring bytes of the scratch up; they must stay as they are until Idle().
  Result<void> Upload(std::span<const std::byte> bytes);
  // Where bytes of the scratch go, for who can bring them there by another way than Upload. No command uses the place
  // of a part that the scratch has just handed out.
  [[nodiscard]] DevicePart PartFor(std::span<const std::byte> bytes) const {
    return {.memory = lane_, .begin = PlaceOf(bytes), .bytes = bytes.size()};
  }
  // Begins to spread bytes that are up, as CopyElements would: `loop.from` is at bytes[0], `loop.to` in the tile.
  Result<void> Spread(const CopyLoop& loop, std::span<const std::byte> bytes, uint64_t item_bytes);
  // Returns when all of the tile has come down to `out`.
  Result<void> Collect(std::span<std::byte> out);
  // Returns when the scratch can be filled anew. A failure shows in the next Collect.
  void Idle();

 private:
  [[nodiscard]] uint64_t PlaceOf(std::span<const std::byte> bytes) const {
    return static_cast<uint64_t>(bytes.data() - scratch_.data());
  }

  const std::shared_ptr<plugin::DeviceLane> lane_;
  const std::span<std::byte> scratch_;
  bool busy_ = false;
  Result<void> state_;
};

}  // namespace dcpctl::engine
