#include "base/quote.h"

#include <array>
#include <charconv>

namespace dcpctl {
namespace {

std::string HexDigits(uint64_t value, int digits) {
  std::array<char, 16> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  std::string text(buffer.data(), end);
  if (text.size() < static_cast<size_t>(digits)) text.insert(0, static_cast<size_t>(digits) - text.size(), '0');
  return text;
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\\': out += "\\\\"; return;
    default: out += "\\x" + HexDigits(static_cast<unsigned char>(c), 2);
  }
}

bool IsPrintableAscii(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

// U+0080..U+009F are control characters too: some terminals act on them.
bool IsC1Control(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xc2' && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

// Characters that are not seen and turn around what is beside them, so that "fdp.exe" looks like "exe.pdf": U+061C,
// U+200E and U+200F, U+202A to U+202E, U+2066 to U+2069.
bool IsDirectionControl(std::string_view sequence) {
  if (sequence == "\xd8\x9c") return true;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
  return sequence[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

}  // namespace

size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 && lead <= 0xf4  ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and values past U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view sequence = text.substr(0, length);
    if (length == 1 && IsPrintableAscii(text[0])) {
      out += text[0];
    } else if (length > 1 && !IsC1Control(sequence) && !IsDirectionControl(sequence)) {
      out += sequence;
    } else {
      for (const char c : text.substr(0, length == 0 ? 1 : length)) AppendEscaped(out, c);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string Quote(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) text = text.substr(0, limit);
  std::string quoted = "\"";
  for (const char c : Escape(text)) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + (cut ? "...\"" : "\"");
}

std::string Hex(uint64_t value, int digits) { return "0x" + HexDigits(value, digits); }

}  // namespace dcpctl
