// Writes single opcodes with their operands, choosing the shortest form that the protocol has. Knows
// nothing of values and their nesting; see the writer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pickle/big_int.h"
#include "pickle/opcodes.h"

namespace dcpctl::pickle {

inline constexpr std::array kShortTuples = {Op::kEmptyTuple, Op::kTuple1, Op::kTuple2, Op::kTuple3};  // by items
inline constexpr size_t kBatch = 1000;  // entries between a MARK and its SETITEMS or APPENDS, as CPython has it

// The entries of a container in batches, each entry by write_entry(i), which may give up, and what goes around them by
// opcode(op). ADDITEMS, whose two forms are one, has none for a single entry.
template <typename WriteOpcode, typename WriteEntry>
bool WriteBatches(size_t count, Op one, Op many, const WriteOpcode& opcode, const WriteEntry& write_entry) {
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t end = std::min(begin + kBatch, count);
    const bool marked = end - begin > 1 || one == many;
    if (marked) opcode(Op::kMark);
    for (size_t i = begin; i < end; ++i) {
      if (!write_entry(i)) return false;
    }
    opcode(marked ? many : one);
  }
  return true;
}

class Emitter {
 public:
  explicit Emitter(int protocol) : protocol_(protocol) { Operand<1>(Op::kProto, static_cast<uint64_t>(protocol)); }

  void Opcode(Op op) { bytes_ += static_cast<char>(op); }
  void Line(std::string_view text) {
    bytes_ += text;
    bytes_ += '\n';
  }

  void Int(int64_t value) {
    if (value >= 0 && value <= UINT8_MAX) {
      Operand<1>(Op::kBinInt1, static_cast<uint64_t>(value));
    } else if (value >= 0 && value <= UINT16_MAX) {
      Operand<2>(Op::kBinInt2, static_cast<uint64_t>(value));
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      Operand<4>(Op::kBinInt, static_cast<uint64_t>(value));
    } else {
      BigInt(BigIntFromInt64(value));
    }
  }
  void BigInt(std::string_view bytes) {
    if (bytes.size() <= UINT8_MAX) {
      Counted<1>(Op::kLong1, bytes);
    } else {
      Counted<4>(Op::kLong4, bytes);
    }
  }
  void Float(double value) {
    Opcode(Op::kBinFloat);
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) bytes_ += static_cast<char>(bits >> shift);
  }
  void String(std::string_view utf8) {
    if (protocol_ >= 4 && utf8.size() <= UINT8_MAX) {
      Counted<1>(Op::kShortBinUnicode, utf8);
    } else if (protocol_ >= 4 && utf8.size() > UINT32_MAX) {
      Counted<8>(Op::kBinUnicode8, utf8);
    } else {
      Counted<4>(Op::kBinUnicode, utf8);
    }
  }
  // From protocol 3 on.
  void Bytes(std::string_view bytes) {
    if (bytes.size() <= UINT8_MAX) {
      Counted<1>(Op::kShortBinBytes, bytes);
    } else if (bytes.size() <= UINT32_MAX) {
      Counted<4>(Op::kBinBytes, bytes);
    } else {
      Counted<8>(Op::kBinBytes8, bytes);
    }
  }
  void Get(uint32_t index) {
    if (index <= UINT8_MAX) {
      Operand<1>(Op::kBinGet, index);
    } else {
      Operand<4>(Op::kLongBinGet, index);
    }
  }
  // `index` must be the number of puts before.
  void Put(uint32_t index) {
    if (protocol_ >= 4) {
      Opcode(Op::kMemoize);
    } else if (index <= UINT8_MAX) {
      Operand<1>(Op::kBinPut, index);
    } else {
      Operand<4>(Op::kLongBinPut, index);
    }
  }

  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  std::string Take() && { return std::move(bytes_); }

 private:
  template <int kWidth>
  void Operand(Op op, uint64_t value) {
    std::array<char, 1 + kWidth> bytes{static_cast<char>(op)};
    for (size_t i = 0; i < kWidth; ++i) bytes[1 + i] = static_cast<char>(value >> (8 * i));
    bytes_.append(bytes.data(), bytes.size());
  }
  template <int kWidth>
  void Counted(Op op, std::string_view bytes) {
    Operand<kWidth>(op, bytes.size());
    bytes_ += bytes;
  }

  int protocol_;
  std::string bytes_;
};

}  // namespace dcpctl::pickle
