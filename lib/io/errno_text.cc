#include "io/errno_text.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace dcpctl::io {
namespace {

// strerror_r comes in two kinds; the argument tells which.
[[maybe_unused]] std::string Message(int result, const char* buffer, int err) {
  return result == 0 && *buffer != '\0' ? std::string(buffer) : "error " + std::to_string(err);
}
[[maybe_unused]] std::string Message(const char* result, const char* /*buffer*/, int err) {
  const std::string_view text(result);
  return text.starts_with("Unknown error") ? "error " + std::to_string(err) : std::string(text);
}

ErrorKind KindOf(int err) {
  switch (err) {
    case ENOENT:
    case ENOTDIR: return ErrorKind::kNotFound;
    case EEXIST: return ErrorKind::kExists;
    default: return ErrorKind::kIo;
  }
}

}  // namespace

std::string ErrnoText(int err) {
  std::array<char, 256> buffer{};
  return Message(strerror_r(err, buffer.data(), buffer.size()), buffer.data(), err);
}

Error ErrorFromErrno(int err, std::string_view action, Place place) {
  Error error(KindOf(err), std::move(place), "cannot " + std::string(action) + ": " + ErrnoText(err));
  if (err == ENOSPC) return std::move(error).Advise("free some space or choose another place for the output");
  if (err == EDQUOT) return std::move(error).Advise("the quota is used up: free some space or choose another place");
  return error;
}

}  // namespace dcpctl::io
