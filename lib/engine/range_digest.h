// CRC-32 of bytes that arrive in ranges, in any order and from several threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace dcpctl::engine {

// Thread-safe. Ranges must not overlap; adjoining ones are joined at once, so that little is held.
class RangeDigest {
 public:
  void Add(uint64_t begin, uint64_t length, uint32_t crc);
  // The CRC of [0, length) when exactly that has been added.
  [[nodiscard]] std::optional<uint32_t> Whole(uint64_t length) const;

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t crc;
  };

  mutable std::mutex mutex_;   // guards ranges_
  std::vector<Range> ranges_;  // sorted, never adjoining
};

}  // namespace dcpctl::engine
