#include "pickle/utf8.h"

#include <cstring>

#include "base/quote.h"

namespace dcpctl::pickle {
namespace {

constexpr size_t kBlock = sizeof(uint64_t);
constexpr uint64_t kHighBits = 0x8080808080808080;

// Most text in a checkpoint is ASCII; testing eight bytes at once keeps reading near memory speed.
size_t AsciiPrefix(std::string_view text) {
  size_t pos = 0;
  for (uint64_t block = 0; pos + kBlock <= text.size(); pos += kBlock) {
    std::memcpy(&block, text.data() + pos, kBlock);
    if ((block & kHighBits) != 0) break;
  }
  while (pos < text.size() && static_cast<unsigned char>(text[pos]) < 0x80) ++pos;
  return pos;
}

bool IsSurrogate(std::string_view text) {
  return text.size() >= 3 && text[0] == '\xed' && (text[1] & '\xe0') == '\xa0' && (text[2] & '\xc0') == '\x80';
}

}  // namespace

size_t SequenceLength(std::string_view text, Surrogates surrogates) {
  const size_t length = Utf8SequenceLength(text);
  return length == 0 && surrogates == Surrogates::kPass && IsSurrogate(text) ? 3 : length;
}

bool IsUtf8(std::string_view text, Surrogates surrogates) {
  for (;;) {
    text.remove_prefix(AsciiPrefix(text));
    if (text.empty()) return true;
    const size_t length = SequenceLength(text, surrogates);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

uint32_t TakeCodePoint(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint32_t code_point = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  text.remove_prefix(length);
  return code_point;
}

void AppendUtf8(std::string& out, uint32_t code_point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code_point >> shift & 0x3f)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace dcpctl::pickle
