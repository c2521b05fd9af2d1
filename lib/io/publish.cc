#include "io/publish.h"

#include <linux/fs.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

constexpr int kMaxNameAttempts = 100;
constexpr size_t kSuffixLength = 6;
constexpr size_t kMaxNameBytes = 255;                                          // NAME_MAX of all common file systems
constexpr size_t kMaxStemBytes = kMaxNameBytes - (1 + 1 + kSuffixLength + 4);  // ".", ".", suffix, ".tmp"

std::string RandomSuffix() {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::array<uint8_t, kSuffixLength> random{};
  // Cannot fail for so few bytes; if it did, the names would only collide more often.
  (void)!::getrandom(random.data(), random.size(), 0);
  std::string suffix;
  for (const uint8_t byte : random) suffix += kLetters[byte % kLetters.size()];
  return suffix;
}

tl::unexpected<Error> AlreadyExists(const std::string& place) {
  return Fail(Error(ErrorKind::kExists, Place{place}, "already exists").Advise("use --force to replace it"));
}

Result<struct stat> StatName(Name name, const std::string& place) {
  struct stat status {};
  if (::fstatat(name.directory, name.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  return Fail(ErrorFromErrno(errno, "read attributes", Place{place}));
}

Result<void> LinkNew(const SystemCalls& calls, Name from, Name to, FileId source, const std::string& place) {
  if (calls.LinkAt(from.directory, from.name.c_str(), to.directory, to.name.c_str()) != 0) {
    const int err = errno;
    if (err != EEXIST) return Fail(ErrorFromErrno(err, "give it its final name", Place{place}));
    // A network server that answers the second time it was asked reports our own link.
    const auto there = StatName(to, place);
    if (!there || ToFileInfo(*there).id != source) return AlreadyExists(place);
  }
  // The file has its name; a left-over second one does no harm.
  (void)calls.UnlinkAt(from.directory, from.name.c_str(), 0);
  return {};
}

Result<void> ClaimAndRename(const SystemCalls& calls, Name from, Name to, const std::string& place) {
  if (::mkdirat(to.directory, to.name.c_str(), 0777) != 0) {
    if (errno == EEXIST) return AlreadyExists(place);
    return Fail(ErrorFromErrno(errno, "create directory", Place{place}));
  }
  auto renamed = RenameOver(calls, from, to, place);
  if (!renamed) (void)calls.UnlinkAt(to.directory, to.name.c_str(), AT_REMOVEDIR);
  return renamed;
}

}  // namespace

std::string FreshName(std::string_view stem) {
  return "." + std::string(stem.substr(0, kMaxStemBytes)) + "." + RandomSuffix() + ".tmp";
}

Result<FreshFile> CreateFresh(const SystemCalls& calls, int directory, std::string_view stem, mode_t mode,
                              const std::string& place) {
  for (int attempt = 0; attempt < kMaxNameAttempts; ++attempt) {
    std::string name = FreshName(stem);
    auto fd =
        OpenAt(calls, directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode, place, "create a temporary file");
    if (fd) return FreshFile{.fd = std::move(*fd), .name = std::move(name)};
    if (fd.error().kind() != ErrorKind::kExists) return Fail(std::move(fd).error());
  }
  return Fail(Place{place}, ErrorKind::kIo, "cannot create a temporary file: all names tried are taken");
}

Result<void> RenameOver(const SystemCalls& calls, Name from, Name to, const std::string& place) {
  if (calls.RenameAt2(from.directory, from.name.c_str(), to.directory, to.name.c_str(), 0) == 0) return {};
  const int err = errno;
  // A kernel or filter may know rename and not renameat2.
  if (err == ENOSYS && ::renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str()) == 0) return {};
  return Fail(ErrorFromErrno(err, "give it its final name", Place{place}));
}

Result<void> RenameNew(const SystemCalls& calls, Name from, Name to, const std::string& place) {
  if (calls.RenameAt2(from.directory, from.name.c_str(), to.directory, to.name.c_str(), RENAME_NOREPLACE) == 0) {
    return {};
  }
  const int err = errno;
  if (err == EEXIST) return AlreadyExists(place);
  if (err != EINVAL && err != ENOSYS) return Fail(ErrorFromErrno(err, "give it its final name", Place{place}));
  DCPCTL_ASSIGN(const struct stat source, StatName(from, place));
  if (S_ISDIR(source.st_mode)) return ClaimAndRename(calls, from, to, place);
  return LinkNew(calls, from, to, ToFileInfo(source).id, place);
}

Result<bool> ExchangeNames(const SystemCalls& calls, Name a, Name b, const std::string& place) {
  if (calls.RenameAt2(a.directory, a.name.c_str(), b.directory, b.name.c_str(), RENAME_EXCHANGE) == 0) return true;
  const int err = errno;
  if (err == EINVAL || err == ENOSYS) return false;
  return Fail(ErrorFromErrno(err, "give it its final name", Place{place}));
}

}  // namespace dcpctl::io
