// Turns errno into an Error whose text says what was tried and what the system answered:
// `cannot open: No such file or directory`. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/error.h"

namespace dcpctl::io {

// "No such file or directory"; "error 4242" for a number that the C library does not know.
std::string ErrnoText(int err);

// `action` is the infinitive: "open", "read", "rename to \"x\"". Kind is kNotFound for ENOENT and ENOTDIR,
// kExists for EEXIST, kIo for all others. ENOSPC and EDQUOT carry advice.
Error ErrorFromErrno(int err, std::string_view action, Place place = {});

}  // namespace dcpctl::io
