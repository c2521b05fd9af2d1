#include "text/numbers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.h"
#include "base/quote.h"

namespace dcpctl::text {
namespace {

constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

// Tenths of the unit 2^shift, rounded to nearest; exact for every uint64_t.
uint64_t Tenths(uint64_t bytes, unsigned shift) {
  const uint64_t whole = bytes >> shift;
  const uint64_t rest = bytes & ((uint64_t{1} << shift) - 1);
  // `rest` has up to 60 bits: drop 8 of them before multiplying by 10.
  const unsigned drop = shift > 56 ? 8 : 0;
  const uint64_t half = uint64_t{1} << (shift - drop - 1);
  return whole * 10 + (((rest >> drop) * 10 + half) >> (shift - drop));
}

std::string Pad2(int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The power of two that a unit stands for; nothing for an unknown unit.
std::optional<unsigned> UnitShift(std::string_view unit) {
  constexpr std::string_view kLetters = "kmgtp";
  std::string lower;
  for (const char c : unit) lower += Lower(c);
  if (lower.empty() || lower == "b") return 0;
  const size_t power = kLetters.find(lower[0]);
  const std::string_view rest = std::string_view(lower).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "i" || rest == "ib")) return {};
  return static_cast<unsigned>(10 * (power + 1));
}

// `digits` * 2^shift.
std::optional<uint64_t> Whole(std::string_view digits, unsigned shift) {
  std::optional<uint64_t> value = 0;
  for (const char c : digits) {
    if (value) value = CheckedMul(*value, 10);
    if (value) value = CheckedAdd(*value, static_cast<uint64_t>(c - '0'));
  }
  return value ? CheckedMul(*value, uint64_t{1} << shift) : value;
}

// 0.`digits` * 2^shift rounded down, one binary digit at a time: no floating point, so 0.1K is 102 everywhere.
uint64_t Fraction(std::string_view digits, unsigned shift) {
  // Keeps the products below 2^64. The largest unit has 2^50 < 10^16 bytes, so later digits are less than a byte.
  constexpr size_t kMostDigits = 18;
  uint64_t numerator = 0;
  uint64_t denominator = 1;
  for (const char c : digits.substr(0, kMostDigits)) {
    numerator = numerator * 10 + static_cast<uint64_t>(c - '0');
    denominator *= 10;
  }
  uint64_t result = 0;
  for (unsigned bit = 0; bit < shift; ++bit) {
    numerator *= 2;
    result = result * 2 + (numerator >= denominator ? 1 : 0);
    if (numerator >= denominator) numerator -= denominator;
  }
  return result;
}

tl::unexpected<Error> NotASize(std::string_view text, std::string_view why) {
  return Fail(Error(ErrorKind::kUsage, Quote(text) + " is not a size: " + std::string(why))
                  .Advise("write a number and a unit, such as 512M, 1.5GiB or 4096"));
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  size_t unit = 1;
  while (unit + 1 < kUnits.size() && (bytes >> (10 * (unit + 1))) != 0) ++unit;
  uint64_t tenths = Tenths(bytes, static_cast<unsigned>(10 * unit));
  // 1023.95 KiB and more would be printed as 1024.0 KiB.
  if (tenths >= 10'240 && unit + 1 < kUnits.size()) tenths = Tenths(bytes, static_cast<unsigned>(10 * ++unit));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + kUnits[unit];
}

std::string FormatCount(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t from_end = 3; from_end < text.size(); from_end += 4) text.insert(text.size() - from_end, ",");
  return text;
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  const int64_t ns = std::max<int64_t>(duration.count(), 0);
  const int64_t ms = ns / 1'000'000 + (ns % 1'000'000 >= 500'000 ? 1 : 0);
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const int64_t tenths = (ms + 50) / 100;
  if (tenths < 600) return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  const int64_t seconds = (ms + 500) / 1'000;
  if (seconds < 3'600) return std::to_string(seconds / 60) + " min " + Pad2(seconds % 60) + " s";
  const int64_t minutes = (seconds + 30) / 60;
  return std::to_string(minutes / 60) + " h " + Pad2(minutes % 60) + " min";
}

std::string FormatRate(uint64_t bytes, std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return "-";
  const double rate = static_cast<double>(bytes) / (static_cast<double>(duration.count()) * 1e-9);
  constexpr double kMost = 1.8e19;  // just below 2^64
  return FormatBytes(static_cast<uint64_t>(std::min(rate, kMost))) + "/s";
}

Result<uint64_t> ParseSize(std::string_view text) {
  std::string_view rest = text;
  const auto take_digits = [&rest] {
    size_t count = 0;
    while (count < rest.size() && IsDigit(rest[count])) ++count;
    const std::string_view digits = rest.substr(0, count);
    rest.remove_prefix(count);
    return digits;
  };
  const std::string_view whole = take_digits();
  std::string_view decimals;
  if (whole.empty()) return NotASize(text, "it does not begin with a digit");
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    decimals = take_digits();
    if (decimals.empty()) return NotASize(text, "no digit follows the point");
  }
  if (rest.size() > 1 && rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<unsigned> shift = UnitShift(rest);
  if (!shift) return NotASize(text, "unknown unit " + Quote(rest));
  std::optional<uint64_t> bytes = Whole(whole, *shift);
  if (bytes) bytes = CheckedAdd(*bytes, Fraction(decimals, *shift));
  if (!bytes) return NotASize(text, "it is too large");
  return *bytes;
}

}  // namespace dcpctl::text
