// How much room UTF-8 text takes on a terminal, and cutting it to a width. Widths are in terminal columns, from an own
// table, so that the answer does not depend on the process's locale. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dcpctl::text {

// East Asian wide and emoji count 2, combining and other zero-width characters 0, all others 1; so does each byte
// that is not part of valid UTF-8. Text must be printable (see Printable): terminal escapes are not understood.
size_t DisplayWidth(std::string_view text);

// `text` if it fits in `width` columns; else its beginning and end with "…" (1 column) between. Never splits a UTF-8
// sequence or parts a combining character from what it combines with. Empty for width 0.
std::string Ellipsize(std::string_view text, size_t width);

// Nothing but ASCII that a terminal prints.
bool IsPrintableAscii(std::string_view text);

// `text` itself when nothing in it could act on a terminal, else Escape(text) of base/quote.h. Safe to call twice.
std::string Printable(std::string_view text);

}  // namespace dcpctl::text
