#include "base/byte_cursor.h"

#include "base/quote.h"

namespace dcpctl {

std::span<const std::byte> ByteCursor::Bytes(uint64_t count, std::string_view what) {
  if (error_) return {};
  last_ = pos_;
  if (count > remaining()) {
    Reject(ErrorKind::kCorrupt, "input ends in " + std::string(what) + ": " + std::to_string(remaining()) +
                                    " bytes left, expected " + std::to_string(count));
    return {};
  }
  const auto view = bytes_.subspan(pos_, count);
  pos_ += count;
  return view;
}

std::string_view ByteCursor::Text(uint64_t count, std::string_view what) {
  const auto view = Bytes(count, what);
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

uint64_t ByteCursor::Unsigned(size_t width, std::string_view what) {
  uint64_t value = 0;
  int shift = 0;
  for (const std::byte b : Bytes(width, what)) {
    value |= std::to_integer<uint64_t>(b) << shift;
    shift += 8;
  }
  return value;
}

void ByteCursor::ExpectU32(uint32_t expected, std::string_view what) {
  const uint32_t found = U32(what);
  if (!error_ && found != expected) {
    Reject(ErrorKind::kCorrupt, std::string(what) + " is " + Hex(found, 8) + ", expected " + Hex(expected, 8));
  }
}

void ByteCursor::Reject(ErrorKind kind, std::string message) {
  if (error_) return;
  error_ = Error(kind, Place{std::string(file_), base_ + last_}, std::move(message));
}

}  // namespace dcpctl
