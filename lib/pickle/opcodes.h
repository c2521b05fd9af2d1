// The opcodes of pickle protocols 0 to 5 and their names. What each does is in the reader.
#pragma once

#include <cstdint>
#include <string_view>

namespace dcpctl::pickle {

enum class Op : uint8_t {
#define X(constant, byte, name, protocol) constant = byte,
#include "pickle/opcodes.def"
#undef X
};

inline constexpr int kHighestProtocol = 5;

// Empty for a byte that is no opcode.
constexpr std::string_view OpName(Op op) {
  switch (op) {
#define X(constant, byte, name, protocol) \
  case Op::constant:                      \
    return name;
#include "pickle/opcodes.def"
#undef X
  }
  return {};
}

}  // namespace dcpctl::pickle
