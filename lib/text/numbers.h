// Numbers as people read and type them. Pure; thread-safe. Exact numbers for programs belong in JSON, not here.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dcpctl/error.h"

namespace dcpctl::text {

// "862 B", exact, below 1 KiB; above with one decimal, rounded to nearest, units powers of 1024: "1.4 GiB".
std::string FormatBytes(uint64_t bytes);
// "1,234,567".
std::string FormatCount(uint64_t count);
// "850 ms" below a second, "3.2 s" below a minute, "1 min 05 s" below an hour, else "2 h 05 min". Negative is "0 ms".
std::string FormatDuration(std::chrono::nanoseconds duration);
// "1.4 GiB/s"; "-" when no time has passed.
std::string FormatRate(uint64_t bytes, std::chrono::nanoseconds duration);

// "4096", "256MiB", "1G", "1.5GiB", "64 kb": a decimal number, at most one space and a unit B, K, M, G, T or P, upper
// or lower case, with or without "i" and "B"; all are powers of 1024. A result that is not a whole number of bytes is
// rounded down. kUsage, quoting the text, for everything else and for 2^64 and above.
Result<uint64_t> ParseSize(std::string_view text);

}  // namespace dcpctl::text
