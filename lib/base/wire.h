// Texts and errors as bytes that another process of the same program reads. No format of any file: both ends are the
// same build.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/byte_writer.h"
#include "dcpctl/error.h"

namespace dcpctl {

void WriteText(ByteWriter& out, std::string_view text);
std::string_view ReadText(ByteCursor& in);

// What it was in becomes part of its message.
void WriteError(ByteWriter& out, const Error& error);
Error ReadError(ByteCursor& in);

// A cursor over the bytes of a message.
ByteCursor ReadMessage(std::string_view bytes);

}  // namespace dcpctl
