// A thread's working memory, and what lies in it: stretches of sources that tiles filled one after the other have in
// common, so that they are read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device_tiles.h"

namespace dcpctl::engine {

// For one thread. The memory, and the device's, must outlive it.
class Scratch {
 public:
  // `shared`: the tiles to come take parts of the same rows. With a device, tiles are put together there. `staging`:
  // room for a tile that is to be cast.
  explicit Scratch(std::span<std::byte> memory, bool shared = false, DeviceTiles* device = nullptr,
                   std::span<std::byte> staging = {})
      : memory_(memory), shared_(shared), device_(device), staging_(staging) {}

  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] uint64_t size() const { return memory_.size(); }
  [[nodiscard]] DeviceTiles* device() const { return device_; }
  [[nodiscard]] std::span<std::byte> staging() const { return staging_; }

  // So many bytes of it, to use at once: what was kept is forgotten. With a device, one part after the other is handed
  // out, so that a part can be filled while those before it are on their way.
  std::span<std::byte> Use(uint64_t bytes);
  std::span<std::byte> Use() { return Use(memory_.size()); }

  // Bytes [begin, begin + bytes) of a source; empty when they were not kept.
  [[nodiscard]] std::span<std::byte> Kept(uint32_t source, uint64_t begin, uint64_t bytes) const;
  // Room for them, which is kept until another use needs it. At most size().
  std::span<std::byte> Keep(uint32_t source, uint64_t begin, uint64_t bytes);
  // What the last Keep made room for could not be had.
  void Forget();

 private:
  struct Stretch {
    uint32_t source;
    uint64_t begin;
    std::span<std::byte> bytes;
  };

  std::span<std::byte> Next(uint64_t bytes);

  std::span<std::byte> memory_;
  bool shared_;
  DeviceTiles* device_;
  std::span<std::byte> staging_;
  uint64_t used_ = 0;
  std::vector<Stretch> kept_;
};

}  // namespace dcpctl::engine
