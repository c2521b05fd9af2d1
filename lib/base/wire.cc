#include "base/wire.h"

#include <span>
#include <utility>

namespace dcpctl {

void WriteText(ByteWriter& out, std::string_view text) { out.U64(text.size()).Text(text); }

std::string_view ReadText(ByteCursor& in) { return in.Text(in.U64("length"), "text"); }

void WriteError(ByteWriter& out, const Error& error) {
  out.U8(static_cast<uint8_t>(error.kind())).U8(error.place().offset.has_value() ? 1 : 0);
  out.U64(error.place().offset.value_or(0));
  WriteText(out, error.place().file);
  WriteText(out, error.Text());
  WriteText(out, error.advice());
}

Error ReadError(ByteCursor& in) {
  const auto kind = static_cast<ErrorKind>(in.U8("kind"));
  const bool has_offset = in.U8("offset there") != 0;
  const uint64_t offset = in.U64("offset");
  Place place{.file = std::string(ReadText(in))};
  if (has_offset) place.offset = offset;
  Error error(kind, std::move(place), std::string(ReadText(in)));
  return std::move(error).Advise(std::string(ReadText(in)));
}

ByteCursor ReadMessage(std::string_view bytes) {
  return {"a message", std::as_bytes(std::span(bytes.data(), bytes.size())), 0};
}

}  // namespace dcpctl
