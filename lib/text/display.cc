#include "text/display.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/quote.h"

namespace dcpctl::text {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// General categories Mn, Me and Cf of the scripts that model and file names may hold. Sorted.
constexpr auto kZeroWidth = std::to_array<Range>({
    {0x0300, 0x036f},   {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x05bf, 0x05bf}, {0x05c1, 0x05c2}, {0x05c4, 0x05c5},
    {0x05c7, 0x05c7},   {0x0610, 0x061a},   {0x061c, 0x061c},   {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc},
    {0x06df, 0x06e4},   {0x06e7, 0x06e8},   {0x06ea, 0x06ed},   {0x0711, 0x0711}, {0x0730, 0x074a}, {0x07a6, 0x07b0},
    {0x0900, 0x0902},   {0x093a, 0x093a},   {0x093c, 0x093c},   {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0951, 0x0957},
    {0x0962, 0x0963},   {0x0981, 0x0981},   {0x09bc, 0x09bc},   {0x09c1, 0x09c4}, {0x09cd, 0x09cd}, {0x0bcd, 0x0bcd},
    {0x0e31, 0x0e31},   {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e},   {0x0eb1, 0x0eb1}, {0x0eb4, 0x0ebc}, {0x1160, 0x11ff},
    {0x1ab0, 0x1ace},   {0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f},
    {0x20d0, 0x20f0},   {0x302a, 0x302d},   {0x3099, 0x309a},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xe0100, 0xe01ef},
});

// East Asian Width W and F, emoji included. Sorted.
constexpr auto kWide = std::to_array<Range>({
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
    {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
    {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18d08}, {0x1b000, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c},
    {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
    {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e},
    {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df},
    {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945},
    {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
});

bool IsIn(char32_t code, std::span<const Range> ranges) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code, [](char32_t c, const Range& r) { return c < r.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

char32_t Decode(std::string_view sequence) {
  constexpr std::array<unsigned, 5> kLeadMask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code = static_cast<unsigned char>(sequence[0]) & kLeadMask[sequence.size()];
  for (const char c : sequence.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

// One character, or one byte that is none.
struct Glyph {
  std::string_view bytes;
  size_t width;
};

Glyph First(std::string_view text) {
  const size_t length = Utf8SequenceLength(text);
  if (length <= 1) return {text.substr(0, 1), 1};
  const std::string_view sequence = text.substr(0, length);
  const char32_t code = Decode(sequence);
  return {sequence, IsIn(code, kZeroWidth) ? size_t{0} : IsIn(code, kWide) ? size_t{2} : size_t{1}};
}

// `text` in pieces that must stay whole: a character with what combines with it.
std::vector<Glyph> Clusters(std::string_view text) {
  std::vector<Glyph> clusters;
  while (!text.empty()) {
    const Glyph next = First(text);
    if (next.width == 0 && !clusters.empty()) {
      // Adjacent views of the same text.
      Glyph& last = clusters.back();
      last.bytes = {last.bytes.data(), last.bytes.size() + next.bytes.size()};
    } else {
      clusters.push_back(next);
    }
    text.remove_prefix(next.bytes.size());
  }
  return clusters;
}

}  // namespace

bool IsPrintableAscii(std::string_view text) {
  bool is = true;  // no way out early: most text is, and a plain loop over it goes many at a time
  for (const char c : text) is &= c >= 0x20 && c < 0x7f;
  return is;
}

size_t DisplayWidth(std::string_view text) {
  if (IsPrintableAscii(text)) return text.size();
  size_t width = 0;
  while (!text.empty()) {
    const Glyph next = First(text);
    width += next.width;
    text.remove_prefix(next.bytes.size());
  }
  return width;
}

std::string Ellipsize(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  const std::vector<Glyph> clusters = Clusters(text);
  const size_t for_tail = (width - 1) / 2;
  size_t room = width - 1 - for_tail;
  std::string head;
  for (auto next = clusters.begin(); next != clusters.end() && next->width <= room; ++next) {
    head += next->bytes;
    room -= next->width;
  }
  room = for_tail;
  size_t tail_bytes = 0;
  for (auto next = clusters.rbegin(); next != clusters.rend() && next->width <= room; ++next) {
    tail_bytes += next->bytes.size();
    room -= next->width;
  }
  return head + "…" + std::string(text.substr(text.size() - tail_bytes));
}

std::string Printable(std::string_view text) {
  if (IsPrintableAscii(text)) return std::string(text);
  std::string escaped = Escape(text);
  // A backslash alone needs no escape on a terminal; each one makes the escaped text a byte longer.
  const auto backslashes = static_cast<size_t>(std::count(text.begin(), text.end(), '\\'));
  return escaped.size() == text.size() + backslashes ? std::string(text) : escaped;
}

}  // namespace dcpctl::text
