// Random read access to bytes, wherever they are: a file, a range of one, or memory. The parsers of
// zip and torch archives read through this, so they work on a data file and on a decoded item alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dcpctl/error.h"

namespace dcpctl {

// Thread-safe: ReadAt may be called from several threads at once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from `offset` on. Reading past the end is an error of kind kCorrupt.
  virtual Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;
  [[nodiscard]] virtual uint64_t size() const = 0;
  // For messages: the outermost file.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

// Compares with what is there before allocating.
Result<std::vector<std::byte>> ReadRange(const ByteSource& source, uint64_t offset, uint64_t length);

// Bytes in memory, owned.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

}  // namespace dcpctl
