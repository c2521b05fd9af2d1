// UTF-8 as Python's pickle has it: with the error handler "surrogatepass", so lone surrogates may occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dcpctl::pickle {

enum class Surrogates : uint8_t { kReject, kPass };

// Number of bytes of the valid sequence at the front of `text`; 0 when there is none.
size_t SequenceLength(std::string_view text, Surrogates surrogates);
bool IsUtf8(std::string_view text, Surrogates surrogates);
// The code point at the front of a valid `text`, which loses its bytes.
uint32_t TakeCodePoint(std::string_view& text);
void AppendUtf8(std::string& out, uint32_t code_point);

}  // namespace dcpctl::pickle
