#include "pickle/repr.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

// Python leaves positional notation where the exponent is outside of this.
constexpr int kLowestPositional = -4;
constexpr int kHighestPositional = 15;

struct Range {
  uint32_t first;
  uint32_t last;
};
// Spaces, controls, formatting (among it what reverses the direction of text), surrogates and private use:
// what str.isprintable denies, but for code points without a meaning yet.
constexpr std::array kNotPrintable = {
    Range{0x80, 0xa0},       Range{0xad, 0xad},       Range{0x600, 0x605},     Range{0x61c, 0x61c},
    Range{0x6dd, 0x6dd},     Range{0x70f, 0x70f},     Range{0x890, 0x891},     Range{0x8e2, 0x8e2},
    Range{0x1680, 0x1680},   Range{0x180e, 0x180e},   Range{0x2000, 0x200f},   Range{0x2028, 0x202f},
    Range{0x205f, 0x206f},   Range{0x3000, 0x3000},   Range{0xd800, 0xf8ff},   Range{0xfeff, 0xfeff},
    Range{0xfff0, 0xfffb},   Range{0xfffe, 0xffff},   Range{0x110bd, 0x110bd}, Range{0x110cd, 0x110cd},
    Range{0x13430, 0x1343f}, Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0x10ffff},
};

bool IsPrintable(uint32_t code_point) {
  if (code_point < 0x80) return code_point >= 0x20 && code_point != 0x7f;
  return std::ranges::none_of(kNotPrintable, [&](Range r) { return code_point >= r.first && code_point <= r.last; });
}

void AppendHex(std::string& out, std::string_view prefix, uint32_t value, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 0xf];
}

// True when `code_point` has an escape that str and bytes share.
bool AppendShortEscape(std::string& out, uint32_t code_point, char quote) {
  switch (code_point) {
    case '\t': out += "\\t"; return true;
    case '\n': out += "\\n"; return true;
    case '\r': out += "\\r"; return true;
    case '\\': out += "\\\\"; return true;
    default: break;
  }
  if (code_point != static_cast<unsigned char>(quote)) return false;
  out += '\\';
  out += quote;
  return true;
}

char QuoteFor(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  return has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
}

// Without the ".0" that a float has and the parts of a complex have not.
template <typename Float>
void AppendNumber(std::string& out, Float value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  std::array<char, 32> buffer{};
  char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer.data(), static_cast<size_t>(end - buffer.data()));
  std::string_view exponent_text = scientific.substr(scientific.find('e') + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (exponent >= kLowestPositional && exponent <= kHighestPositional) {
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
  }
  out.append(buffer.data(), end);
}

template <typename Float>
void AppendWithPoint(std::string& out, Float value) {
  const size_t start = out.size();
  AppendNumber(out, value);
  if (std::isfinite(value) && out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

}  // namespace

void AppendFloat(std::string& out, double value) { AppendWithPoint(out, value); }
void AppendFloat32(std::string& out, float value) { AppendWithPoint(out, value); }

void AppendComplex(std::string& out, double real, double imaginary) {
  const bool real_part = real != 0 || std::signbit(real);
  if (real_part) {
    out += '(';
    AppendNumber(out, real);
    if (!std::signbit(imaginary) || std::isnan(imaginary)) out += '+';
  }
  AppendNumber(out, imaginary);
  out += real_part ? "j)" : "j";
}

void AppendString(std::string& out, std::string_view utf8, size_t budget) {
  const char quote = QuoteFor(utf8.substr(0, budget));
  const size_t start = out.size();
  out += quote;
  while (!utf8.empty() && out.size() - start <= budget) {
    const std::string_view before = utf8;
    const uint32_t code_point = TakeCodePoint(utf8);
    if (AppendShortEscape(out, code_point, quote)) continue;
    if (IsPrintable(code_point)) {
      out += before.substr(0, before.size() - utf8.size());
    } else if (code_point <= 0xff) {
      AppendHex(out, "\\x", code_point, 2);
    } else if (code_point <= 0xffff) {
      AppendHex(out, "\\u", code_point, 4);
    } else {
      AppendHex(out, "\\U", code_point, 8);
    }
  }
  if (utf8.empty()) out += quote;
}

void AppendBytes(std::string& out, std::string_view bytes, size_t budget) {
  const char quote = QuoteFor(bytes.substr(0, budget));
  const size_t start = out.size();
  out += 'b';
  out += quote;
  size_t done = 0;
  for (; done < bytes.size() && out.size() - start <= budget; ++done) {
    const auto byte = static_cast<unsigned char>(bytes[done]);
    if (AppendShortEscape(out, byte, quote)) continue;
    if (byte >= 0x20 && byte < 0x7f) {
      out += bytes[done];
    } else {
      AppendHex(out, "\\x", byte, 2);
    }
  }
  if (done == bytes.size()) out += quote;
}

}  // namespace dcpctl::pickle
