// Integers of any size as pickles hold them: two's complement, little-endian, minimal length, zero being
// the empty string. Only conversions; there is no arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dcpctl::pickle {

// Conversion to and from decimal takes quadratic time. CPython stops at the same number of digits
// (sys.set_int_max_str_digits), for the same reason.
inline constexpr size_t kMaxDecimalDigits = 4300;

// Without the bytes at the end that only repeat the sign.
std::string_view TrimBigInt(std::string_view bytes);
// Nothing when the value needs more than 64 bits.
std::optional<int64_t> BigIntToInt64(std::string_view bytes);
std::string BigIntFromInt64(int64_t value);
// `digits` are valid in `base` (2 to 16); at most kMaxDecimalDigits of them unless the base is a power of two.
std::string BigIntFromDigits(std::string_view digits, unsigned base, bool negative);
// Decimal, or hexadecimal ("-0x1f") when that would be longer than kMaxDecimalDigits.
std::string BigIntToText(std::string_view bytes);

}  // namespace dcpctl::pickle
