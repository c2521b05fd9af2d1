// A ByteSource that has the two ends of a range in memory: the first and the last bytes of an embedded
// archive, which hold its first local headers, its pickle and its directory. Opening a small archive so
// costs two reads of the file, or one, instead of one for each header. Reads elsewhere go to the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl {

struct WindowOptions {
  uint64_t head_bytes = 4096;  // local header and pickle of a one-tensor archive take under 1 KiB
  uint64_t tail_bytes = 4096;  // its directory and end records take 800 bytes or less
};

// Borrowed: `inner` must outlive it. Offsets are those of `inner`.
class WindowSource final : public ByteSource {
 public:
  // Reads the ends of [base, base + length); all of it at once when they meet.
  static Result<WindowSource> Read(const ByteSource& inner, uint64_t base, uint64_t length,
                                   const WindowOptions& options = {});

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] const std::string& name() const override { return inner_->name(); }

 private:
  struct Window {
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };

  explicit WindowSource(const ByteSource& inner) : inner_(&inner) {}
  static bool Serve(const Window& window, uint64_t offset, std::span<std::byte> out);

  const ByteSource* inner_;
  Window head_;
  Window tail_;
};

}  // namespace dcpctl
