// Taking results apart in tests: what was not expected ends the test with the error's own text.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl::test {

template <typename T>
T Value(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected failure: " + result.error().ToString());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <typename T>
Error ErrorOf(Result<T> result) {
  if (result) throw std::runtime_error("unexpected success");
  return std::move(result).error();
}

inline std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string ReadAll(const ByteSource& source) { return TextOf(Value(ReadRange(source, 0, source.size()))); }

}  // namespace dcpctl::test
