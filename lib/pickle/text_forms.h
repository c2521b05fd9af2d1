// The operands of protocol 0, which are lines of text in Python's own notation. Pure functions; each gives
// nothing for text that Python would not accept there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace dcpctl::pickle {

// STRING: a quoted Python 2 literal, as bytes.
std::optional<std::string> ParseQuoted(std::string_view line);
// UNICODE: "raw-unicode-escape" to UTF-8.
std::optional<std::string> ParseRawUnicodeEscape(std::string_view line);
// FLOAT.
std::optional<double> ParseFloatLine(std::string_view line);
// GET and PUT.
std::optional<uint64_t> ParseIndexLine(std::string_view line);

struct TooManyDigits {};
// INT and LONG: a number, or a big one in two's complement.
using Integer = std::variant<int64_t, std::string, TooManyDigits>;
std::optional<Integer> ParseIntegerLine(std::string_view line);

}  // namespace dcpctl::pickle
