// Text for messages: quoting, escaping and numbers in hexadecimal. What comes from a file may hold
// terminal escapes, newlines or broken UTF-8; nothing of that reaches a terminal through these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dcpctl {

// Control characters, broken UTF-8 and backslashes as \n, \t, \xHH or \\; everything else as it is.
std::string Escape(std::string_view text);
// Escape, in double quotes, inner double quotes escaped. Cut after `limit` bytes of input with "...".
std::string Quote(std::string_view text, size_t limit = 200);
// 0x1f, zero-padded to `digits`.
std::string Hex(uint64_t value, int digits = 0);

// Number of bytes of the valid UTF-8 sequence at the front of `text`; 0 when there is none.
size_t Utf8SequenceLength(std::string_view text);

}  // namespace dcpctl
