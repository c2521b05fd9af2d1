#include "pickle/text_forms.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pickle/big_int.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

constexpr uint32_t kHighestCodePoint = 0x10ffff;

// Value of a digit in bases up to 16, or 16.
unsigned HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10) : 16;
}

// Takes exactly `count` hexadecimal digits.
std::optional<uint32_t> TakeHex(std::string_view& text, size_t count) {
  if (text.size() < count) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const unsigned digit = HexDigit(text[i]);
    if (digit == 16) return std::nullopt;
    value = value << 4 | digit;
  }
  text.remove_prefix(count);
  return value;
}

// Up to three octal digits.
char TakeOctal(std::string_view& text) {
  unsigned value = 0;
  for (size_t i = 0; i < 3 && !text.empty() && text[0] >= '0' && text[0] <= '7'; ++i) {
    value = value << 3 | static_cast<unsigned>(text[0] - '0');
    text.remove_prefix(1);
  }
  return static_cast<char>(value);
}

// What follows a backslash; `text` begins after it and is not empty.
bool Unescape(std::string_view& text, std::string& out) {
  const char c = text[0];
  if (c >= '0' && c <= '7') {
    out += TakeOctal(text);
    return true;
  }
  text.remove_prefix(1);
  switch (c) {
    case '\n': return true;
    case '\\':
    case '\'':
    case '"': out += c; return true;
    case 'a': out += '\a'; return true;
    case 'b': out += '\b'; return true;
    case 'f': out += '\f'; return true;
    case 'n': out += '\n'; return true;
    case 'r': out += '\r'; return true;
    case 't': out += '\t'; return true;
    case 'v': out += '\v'; return true;
    case 'x':
      if (const std::optional<uint32_t> byte = TakeHex(text, 2)) {
        out += static_cast<char>(*byte);
        return true;
      }
      return false;
    default:
      out += '\\';
      out += c;
      return true;
  }
}

// "0x", "0o", "0b" choose the base; a bare leading zero means octal, as strtol has it.
unsigned TakeBase(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char mark = static_cast<char>(digits[1] | 0x20);
  const unsigned base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

std::string_view Strip(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::optional<std::string> ParseQuoted(std::string_view line) {
  if (line.size() < 2 || line.front() != line.back() || (line.front() != '\'' && line.front() != '"'))
    return std::nullopt;
  line = line.substr(1, line.size() - 2);
  std::string out;
  while (!line.empty()) {
    const size_t plain = std::min(line.find('\\'), line.size());
    out += line.substr(0, plain);
    line.remove_prefix(plain);
    if (line.empty()) break;
    line.remove_prefix(1);
    if (line.empty() || !Unescape(line, out)) return std::nullopt;
  }
  return out;
}

std::optional<std::string> ParseRawUnicodeEscape(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const char c = line[0];
    line.remove_prefix(1);
    AppendUtf8(out, static_cast<unsigned char>(c));
    if (c != '\\' || line.empty()) continue;
    const char mark = line[0];
    line.remove_prefix(1);
    if (mark != 'u' && mark != 'U') {
      AppendUtf8(out, static_cast<unsigned char>(mark));
      continue;
    }
    const std::optional<uint32_t> code_point = TakeHex(line, mark == 'u' ? 4 : 8);
    if (!code_point || *code_point > kHighestCodePoint) return std::nullopt;
    out.pop_back();  // the backslash
    AppendUtf8(out, *code_point);
  }
  return out;
}

std::optional<double> ParseFloatLine(std::string_view line) {
  const bool negative = line.starts_with('-');
  if (negative || line.starts_with('+')) line.remove_prefix(1);
  // from_chars takes a second sign and "nan(...)", Python does not.
  if (line.starts_with('-') || line.find('(') != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (end != line.data() + line.size() || code == std::errc::invalid_argument) return std::nullopt;
  if (code == std::errc::result_out_of_range) {
    const size_t exponent = line.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && line.substr(exponent + 1).starts_with('-');
    value = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

std::optional<uint64_t> ParseIndexLine(std::string_view line) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc() || end != line.data() + line.size()) return std::nullopt;
  return value;
}

std::optional<Integer> ParseIntegerLine(std::string_view line) {
  line = Strip(line);
  const bool negative = line.starts_with('-');
  if (negative || line.starts_with('+')) line.remove_prefix(1);
  const unsigned base = TakeBase(line);
  if (line.empty()) return std::nullopt;
  for (const char c : line) {
    if (HexDigit(c) >= base) return std::nullopt;
  }
  if (line.size() > kMaxDecimalDigits) return TooManyDigits{};
  std::string bytes = BigIntFromDigits(line, base, negative);
  if (const std::optional<int64_t> value = BigIntToInt64(bytes)) return *value;
  return bytes;
}

}  // namespace dcpctl::pickle
