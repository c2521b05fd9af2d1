// How text is shown on a terminal: its width and whether colours are wanted. Colours are ANSI escapes and
// go around text that is already laid out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dcpctl::report {

struct TextStyle {
  size_t width = 0;  // columns; 0 for no limit
  bool color = false;
};

enum class Ink : uint8_t { kBold, kFaint, kRed, kYellow, kCyan };

// `text` in that colour, or as it is when colours are off.
std::string Paint(std::string_view text, Ink ink, const TextStyle& style);

// "1 tensor", "12 tensors", "1,024 entries": for nouns that take an s, or ry -> ries.
std::string Plural(uint64_t count, std::string_view noun);

}  // namespace dcpctl::report
