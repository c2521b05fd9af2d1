#include "io/open_beneath.h"

#include <cerrno>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/file_system.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
// With RESOLVE_BENEATH the kernel gives up with EAGAIN when something is renamed under its feet.
constexpr int kMaxOpenAttempts = 16;

Error Refuse(int err, const std::string& name) {
  switch (err) {
    case EXDEV:
      return {ErrorKind::kUnsupported, Place{name}, "is or passes a symbolic link that leads out of its directory"};
    case ELOOP: return {ErrorKind::kUnsupported, Place{name}, "passes too many symbolic links"};
    case ENXIO: return {ErrorKind::kUnsupported, Place{name}, "is a socket or device, expected a regular file"};
    default: return ErrorFromErrno(err, "open", Place{name});
  }
}

bool IsLink(int directory, const std::string& part) {
  struct stat status {};
  return ::fstatat(directory, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

Result<UniqueFd> OpenPart(const SystemCalls& calls, int directory, const std::string& part, int flags,
                          const std::string& name) {
  int fd = -1;
  do {
    fd = calls.OpenAt(directory, part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0);
  } while (fd < 0 && errno == EINTR);
  if (fd >= 0) return UniqueFd(calls, fd);
  const int err = errno;
  if ((err == ELOOP || err == ENOTDIR) && IsLink(directory, part)) {
    return Fail(Place{name}, ErrorKind::kUnsupported,
                "is or passes a symbolic link, which cannot be followed safely on this system");
  }
  return Fail(Refuse(err, name));
}

Result<UniqueFd> Walk(const SystemCalls& calls, UniqueFd directory, const std::string& relative,
                      const std::string& name) {
  size_t begin = 0;
  for (size_t slash = relative.find('/'); slash != std::string::npos; slash = relative.find('/', begin)) {
    const std::string part = relative.substr(begin, slash - begin);
    begin = slash + 1;
    if (part.empty()) continue;
    DCPCTL_ASSIGN(directory, OpenPart(calls, directory.get(), part, O_PATH | O_DIRECTORY, name));
  }
  return OpenPart(calls, directory.get(), relative.substr(begin), kReadFlags, name);
}

}  // namespace

Result<UniqueFd> OpenFdBeneath(const SystemCalls& calls, const std::filesystem::path& root,
                               const std::string& relative) {
  const std::string name = (root / relative).string();
  if (auto accepted = CheckRelativeName(relative); !accepted) {
    return Fail(std::move(accepted).error().At(Place{root.string()}));
  }
  DCPCTL_ASSIGN(UniqueFd directory, OpenAt(calls, AT_FDCWD, root.string(), O_PATH | O_DIRECTORY, 0, root.string()));
  open_how how{};
  how.flags = kReadFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int fd = -1;
  for (int attempt = 0; attempt < kMaxOpenAttempts; ++attempt) {
    fd = calls.OpenAt2(directory.get(), relative.c_str(), how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  if (fd >= 0) return UniqueFd(calls, fd);
  // EPERM is how container filters of the time before openat2 answer.
  if (errno == ENOSYS || errno == EPERM) return Walk(calls, std::move(directory), relative, name);
  return Fail(Refuse(errno, name));
}

}  // namespace dcpctl::io
