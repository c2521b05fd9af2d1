// What is known of the terminal behind a descriptor. Thread-safe.
#pragma once

#include <cstddef>

namespace dcpctl::io {

inline constexpr int kStandardOutput = 1;
inline constexpr int kStandardError = 2;

bool IsTerminal(int fd);
// Columns; 0 when `fd` is no terminal or does not say.
size_t TerminalWidth(int fd);

}  // namespace dcpctl::io
