// Decodes zstd frames that lie in a range of a ByteSource, piece by piece, in bounded memory. EdgeSource
// keeps the two ends of what comes out, so that an archive inside can be opened without holding all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/inflate.h"
#include "dcpctl/error.h"

namespace dcpctl {

// Decodes the frames in [offset, offset + length), one or more without gaps, and returns the number of
// decoded bytes. Frames need not say how large their content is. kCorrupt for bad or cut-off data or bytes
// after the last frame; kLimit as soon as more than `max_decoded` bytes come out, of which `sink` never sees
// more than that, or for a window above 128 MiB.
Result<uint64_t> DecodeZstd(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded,
                            const ByteSink& sink);

// The first and the last bytes of a stream. Filled with Append() by one thread; read from then on, when it
// is as thread-safe as any source. Offsets count decoded bytes.
class EdgeSource final : public ByteSource {
 public:
  static constexpr uint64_t kDefaultEdgeBytes = uint64_t{1} << 20;

  // `name` is for messages. Memory is 2 * edge_bytes at most, and less for a shorter stream.
  explicit EdgeSource(std::string name, uint64_t edge_bytes = kDefaultEdgeBytes)
      : name_(std::move(name)), edge_bytes_(edge_bytes) {}

  // Takes the memory for a stream of so many bytes at once.
  void Reserve(uint64_t bytes);
  void Append(std::span<const std::byte> bytes);

  // kLimit when the bytes were dropped.
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;
  // Whether the range is there, all of it.
  [[nodiscard]] bool Has(uint64_t offset, uint64_t length) const;
  // Bytes appended so far.
  [[nodiscard]] uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  void AppendTail(std::span<const std::byte> bytes);

  std::string name_;
  uint64_t edge_bytes_;
  uint64_t size_ = 0;
  std::vector<std::byte> head_;
  // Stream byte i, once past the head, is at tail_[i % edge_bytes_]; only the last edge_bytes_ are there.
  std::vector<std::byte> tail_;
};

}  // namespace dcpctl
