// Encodes bytes as zstd frames, piece by piece, on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dcpctl/error.h"

namespace dcpctl {

// One thread. What comes out depends on the level and on the bytes of each frame alone: neither on how many threads
// there are nor on how the bytes were cut into pieces.
class ZstdWriter {
 public:
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;

  // `threads`, at least one, compress behind the caller's back. kLimit when there is not enough memory for them.
  static Result<ZstdWriter> Make(int level, unsigned threads);
  ZstdWriter(ZstdWriter&&) noexcept;
  ZstdWriter& operator=(ZstdWriter&&) noexcept;
  ~ZstdWriter();

  // What one thread takes, about. The encoder alone; pieces are not held.
  [[nodiscard]] static uint64_t BytesPerThread(int level);

  // A frame of exactly `bytes` follows, and says so in its header; it carries a checksum of them.
  Result<void> Begin(uint64_t bytes);
  // Passes on what is ready. Errors are the sink's.
  Result<void> Write(std::span<const std::byte> piece, const Sink& sink);
  // After the last piece: passes on the rest of the frame.
  Result<void> End(const Sink& sink);

 private:
  struct Impl;
  explicit ZstdWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dcpctl
