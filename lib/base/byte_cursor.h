// Reads little-endian fields from a view of bytes, remembering the first failure. Each read carries the
// words used in the message; after a failure reads return zero and move nothing, so a record can be read
// in straight-line code and checked once with Finish(). Stores views: `file` and `bytes` must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dcpctl/error.h"

namespace dcpctl {

class ByteCursor {
 public:
  // `base` is the absolute offset of bytes[0] in `file`.
  ByteCursor(std::string_view file, std::span<const std::byte> bytes, uint64_t base)
      : file_(file), bytes_(bytes), base_(base) {}

  uint8_t U8(std::string_view what) { return static_cast<uint8_t>(Unsigned(1, what)); }
  uint16_t U16(std::string_view what) { return static_cast<uint16_t>(Unsigned(2, what)); }
  uint32_t U32(std::string_view what) { return static_cast<uint32_t>(Unsigned(4, what)); }
  uint64_t U64(std::string_view what) { return Unsigned(8, what); }
  std::span<const std::byte> Bytes(uint64_t count, std::string_view what);
  std::string_view Text(uint64_t count, std::string_view what);
  void Skip(uint64_t count, std::string_view what) { Bytes(count, what); }
  void ExpectU32(uint32_t expected, std::string_view what);

  // Records a failure at the byte where the last read began, unless there is one already.
  void Reject(ErrorKind kind, std::string message);

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] uint64_t pos() const { return pos_; }
  [[nodiscard]] uint64_t offset() const { return base_ + pos_; }
  [[nodiscard]] uint64_t remaining() const { return bytes_.size() - pos_; }

  // `value`, or the first failure with its place.
  template <typename T>
  Result<T> Finish(T value) {
    if (error_) return Fail(*error_);
    return value;
  }

 private:
  uint64_t Unsigned(size_t width, std::string_view what);

  std::string_view file_;
  std::span<const std::byte> bytes_;
  uint64_t base_;
  uint64_t pos_ = 0;
  uint64_t last_ = 0;
  std::optional<Error> error_;
};

}  // namespace dcpctl
