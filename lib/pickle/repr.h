// Numbers and text the way Python's repr writes them. Scalars only; see the printer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dcpctl::pickle {

// "1.0", "1e-05", "nan": the shortest text that reads back as the same number.
void AppendFloat(std::string& out, double value);
void AppendFloat32(std::string& out, float value);
// "(1+2j)", "2j".
void AppendComplex(std::string& out, double real, double imaginary);
// 'text', with its quotes. Stops, unclosed, after about `budget` bytes.
void AppendString(std::string& out, std::string_view utf8, size_t budget = SIZE_MAX);
// b'bytes', with its quotes.
void AppendBytes(std::string& out, std::string_view bytes, size_t budget = SIZE_MAX);

}  // namespace dcpctl::pickle
