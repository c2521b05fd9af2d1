// Files that another process has: what is read of them is fetched, or lands in memory of a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "io/file_system.h"
#include "io/union_file_system.h"
#include "support/memory_file_system.h"

namespace dcpctl::test {

class LandingFiles {
 public:
  // Those below /ckpt. `files` must outlive it.
  explicit LandingFiles(MemoryFileSystem& files);

  [[nodiscard]] io::FileSystem& files() { return *joined_; }
  // Bytes that came either way.
  [[nodiscard]] uint64_t fetched() const { return fetched_; }
  [[nodiscard]] uint64_t landed() const { return landed_; }

  // Set before it is used: nothing can land; landing fails.
  bool apart = false;
  std::optional<Error> error;

 private:
  Result<std::optional<uint32_t>> Land(const std::string& name, uint64_t offset, const DevicePart& to);

  MemoryFileSystem& files_;
  const io::UnionListing listing_;
  const std::unique_ptr<io::FileSystem> joined_;
  std::atomic<uint64_t> fetched_ = 0;
  std::atomic<uint64_t> landed_ = 0;
};

}  // namespace dcpctl::test
