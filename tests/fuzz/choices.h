// Takes decisions from the bytes of an input, so that a fuzzer that changes bytes changes decisions. When they are used
// up every answer is the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dcpctl::fuzz {

class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Below `count`, which is 1 at least.
  size_t Below(size_t count) { return Number(count > 256 ? 2 : 1) % count; }
  bool OneIn(size_t count) { return Below(count) == count - 1; }
  [[nodiscard]] bool empty() const { return at_ == bytes_.size(); }

 private:
  size_t Number(size_t bytes) {
    size_t number = 0;
    for (; bytes > 0; --bytes) number = number << 8 | (empty() ? 0 : static_cast<size_t>(bytes_[at_++]));
    return number;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace dcpctl::fuzz
