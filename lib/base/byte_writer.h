// Appends little-endian fields to a byte string: the counterpart of ByteCursor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dcpctl {

class ByteWriter {
 public:
  ByteWriter& U8(uint8_t value) { return Unsigned(value, 1); }
  ByteWriter& U16(uint16_t value) { return Unsigned(value, 2); }
  ByteWriter& U32(uint32_t value) { return Unsigned(value, 4); }
  ByteWriter& U64(uint64_t value) { return Unsigned(value, 8); }
  ByteWriter& Text(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  ByteWriter& Fill(char byte, uint64_t count) {
    bytes_.append(count, byte);
    return *this;
  }

  [[nodiscard]] uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  std::string Take() && { return std::move(bytes_); }

 private:
  ByteWriter& Unsigned(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }

  std::string bytes_;
};

}  // namespace dcpctl
