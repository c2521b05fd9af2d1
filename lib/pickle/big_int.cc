#include "pickle/big_int.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace dcpctl::pickle {
namespace {

// Magnitudes are held in 32-bit limbs, the least significant first.
using Limbs = std::vector<uint32_t>;

constexpr uint64_t kDecimalChunk = 1'000'000'000;  // the largest power of ten below 2^32
constexpr size_t kDecimalChunkDigits = 9;
constexpr size_t kMaxDecimalBytes = kMaxDecimalDigits * 1000 / 2408 + 1;  // a byte has 2.408 decimal digits

bool IsNegative(std::string_view bytes) { return !bytes.empty() && (bytes.back() & '\x80') != 0; }

void MultiplyAdd(Limbs& limbs, uint64_t factor, uint64_t addend) {
  for (uint32_t& limb : limbs) {
    addend += limb * factor;
    limb = static_cast<uint32_t>(addend);
    addend >>= 32;
  }
  if (addend != 0) limbs.push_back(static_cast<uint32_t>(addend));
}

uint32_t DivideBy(Limbs& limbs, uint64_t divisor) {
  uint64_t remainder = 0;
  for (auto limb = limbs.rbegin(); limb != limbs.rend(); ++limb) {
    remainder = remainder << 32 | *limb;
    *limb = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
  return static_cast<uint32_t>(remainder);
}

void Negate(std::string& bytes) {
  unsigned carry = 1;
  for (char& byte : bytes) {
    carry += static_cast<unsigned char>(~byte);
    byte = static_cast<char>(carry);
    carry >>= 8;
  }
}

// Two's complement bytes of a magnitude in little-endian bytes.
std::string WithSign(std::string magnitude, bool negative) {
  magnitude += '\0';
  if (negative) Negate(magnitude);
  return std::string(TrimBigInt(magnitude));
}

std::string Magnitude(std::string_view bytes) {
  std::string magnitude(bytes);
  if (IsNegative(bytes)) {
    magnitude += '\xff';
    Negate(magnitude);
  }
  return magnitude;
}

unsigned DigitValue(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

std::string PowerOfTwoDigits(std::string_view digits, unsigned bits) {
  std::string magnitude;
  unsigned held = 0;
  unsigned held_bits = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    held |= DigitValue(*digit) << held_bits;
    held_bits += bits;
    if (held_bits < 8) continue;
    magnitude += static_cast<char>(held);
    held >>= 8;
    held_bits -= 8;
  }
  magnitude += static_cast<char>(held);
  return magnitude;
}

std::string Hexadecimal(std::string_view magnitude) {
  std::string text;
  for (const char byte : magnitude) {
    text += "0123456789abcdef"[byte & 0xf];
    text += "0123456789abcdef"[byte >> 4 & 0xf];
  }
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  text += "x0";
  std::reverse(text.begin(), text.end());
  return text;
}

std::string Decimal(std::string_view magnitude) {
  Limbs limbs(magnitude.size() / 4 + 1);
  for (size_t i = 0; i < magnitude.size(); ++i) {
    limbs[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(magnitude[i])) << (i % 4 * 8);
  }
  std::string text;
  while (!limbs.empty()) {
    uint32_t chunk = DivideBy(limbs, kDecimalChunk);
    for (size_t i = 0; i < kDecimalChunkDigits; ++i, chunk /= 10) text += static_cast<char>('0' + chunk % 10);
  }
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

std::string_view TrimBigInt(std::string_view bytes) {
  const auto top_bit = [&](size_t i) { return i < bytes.size() && (bytes[i] & '\x80') != 0; };
  while (!bytes.empty()) {
    const size_t last = bytes.size() - 1;
    const bool below = last > 0 && top_bit(last - 1);
    if (bytes[last] != (below ? '\xff' : '\0')) break;
    bytes.remove_suffix(1);
  }
  return bytes;
}

std::optional<int64_t> BigIntToInt64(std::string_view bytes) {
  bytes = TrimBigInt(bytes);
  if (bytes.size() > sizeof(int64_t)) return std::nullopt;
  uint64_t value = IsNegative(bytes) ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<int64_t>(value);
}

std::string BigIntFromInt64(int64_t value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i));
  return std::string(TrimBigInt(bytes));
}

std::string BigIntFromDigits(std::string_view digits, unsigned base, bool negative) {
  if (std::has_single_bit(base)) {
    return WithSign(PowerOfTwoDigits(digits, static_cast<unsigned>(std::countr_zero(base))), negative);
  }
  Limbs limbs;
  for (const char digit : digits) MultiplyAdd(limbs, base, DigitValue(digit));
  std::string magnitude;
  for (const uint32_t limb : limbs) {
    for (int shift = 0; shift < 32; shift += 8) magnitude += static_cast<char>(limb >> shift);
  }
  return WithSign(std::move(magnitude), negative);
}

std::string BigIntToText(std::string_view bytes) {
  bytes = TrimBigInt(bytes);
  const std::string magnitude = Magnitude(bytes);
  const std::string text = bytes.size() > kMaxDecimalBytes ? Hexadecimal(magnitude) : Decimal(magnitude);
  return IsNegative(bytes) ? "-" + text : text;
}

}  // namespace dcpctl::pickle
