// The engine's memory: a fixed number of equal buffers, lent out and given back. What a job holds is decided
// before it starts.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "plugin/device.h"

namespace dcpctl::engine {

// Thread-safe; must outlive its leases.
class BufferPool {
 public:
  class Lease {
   public:
    Lease(BufferPool* pool, std::unique_ptr<std::byte[]> memory) : pool_(pool), memory_(std::move(memory)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (memory_) pool_->GiveBack(std::move(memory_));
    }
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), pool_->buffer_bytes_}; }

   private:
    BufferPool* pool_;
    std::unique_ptr<std::byte[]> memory_;
  };

  // Buffers are pinned for a device, which must outlive the pool.
  BufferPool(unsigned count, uint64_t buffer_bytes, plugin::Device* device = nullptr)
      : buffer_bytes_(buffer_bytes), device_(device), unmade_(count) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() {
    for (const auto& buffer : free_) {
      if (device_ != nullptr) device_->Release({buffer.get(), buffer_bytes_});
    }
  }

  // Waits for a buffer when all are lent. Its contents are anything.
  Lease Take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return unmade_ > 0 || !free_.empty(); });
    if (free_.empty()) {
      --unmade_;
      auto buffer = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_);
      if (device_ != nullptr) device_->Pin({buffer.get(), buffer_bytes_});
      return {this, std::move(buffer)};
    }
    Lease lease(this, std::move(free_.back()));
    free_.pop_back();
    return lease;
  }

 private:
  void GiveBack(std::unique_ptr<std::byte[]> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
    returned_.notify_one();
  }

  const uint64_t buffer_bytes_;
  plugin::Device* const device_;
  std::mutex mutex_;  // guards the two below
  unsigned unmade_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
  std::condition_variable returned_;
};

}  // namespace dcpctl::engine
