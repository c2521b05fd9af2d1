#include "io/transfer.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/checked.h"
#include "io/errno_text.h"

namespace dcpctl::io {
namespace {

// Linux moves a little less than 2 GiB per call at most; staying below keeps every result positive.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

FileType TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileType::kRegular;
    case S_IFDIR: return FileType::kDirectory;
    case S_IFLNK: return FileType::kSymlink;
    case S_IFIFO: return FileType::kFifo;
    case S_IFSOCK: return FileType::kSocket;
    case S_IFCHR: return FileType::kCharDevice;
    case S_IFBLK: return FileType::kBlockDevice;
    default: return FileType::kOther;
  }
}

}  // namespace

std::string_view FileTypeName(FileType type) {
  switch (type) {
    case FileType::kRegular: return "regular file";
    case FileType::kDirectory: return "directory";
    case FileType::kSymlink: return "symbolic link";
    case FileType::kFifo: return "FIFO";
    case FileType::kSocket: return "socket";
    case FileType::kCharDevice: return "character device";
    case FileType::kBlockDevice: return "block device";
    case FileType::kOther: break;
  }
  return "special file";
}

Result<UniqueFd> OpenAt(const SystemCalls& calls, int directory, const std::string& path, int flags, mode_t mode,
                        const std::string& name, std::string_view action) {
  int fd = -1;
  do {
    fd = calls.OpenAt(directory, path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Fail(ErrorFromErrno(errno, action, Place{name}));
  return UniqueFd(calls, fd);
}

FileInfo ToFileInfo(const struct stat& status) {
  return {.type = TypeOf(status.st_mode),
          .bytes = static_cast<uint64_t>(status.st_size),
          .mtime_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
          .id = {.device = status.st_dev, .inode = status.st_ino},
          .block_bytes = static_cast<uint64_t>(status.st_blksize)};
}

Result<FileInfo> StatFd(const SystemCalls& calls, int fd, const std::string& name) {
  struct stat status {};
  if (calls.FStat(fd, status) != 0) return Fail(ErrorFromErrno(errno, "read attributes", Place{name}));
  return ToFileInfo(status);
}

Result<uint64_t> ReadFull(const SystemCalls& calls, int fd, uint64_t offset, std::span<std::byte> out,
                          const std::string& name) {
  uint64_t done = 0;
  while (done < out.size()) {
    const size_t want = std::min<size_t>(out.size() - done, kMaxTransferBytes);
    const ssize_t got = calls.PRead(fd, out.data() + done, want, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<uint64_t>(got);
    } else if (errno != EINTR) {
      return Fail(ErrorFromErrno(errno, "read", Place{name, offset + done}));
    }
  }
  return done;
}

Result<void> WriteFull(const SystemCalls& calls, int fd, uint64_t offset, std::span<const std::byte> bytes,
                       const std::string& name) {
  constexpr uint64_t kMaxOffset = std::numeric_limits<off_t>::max();
  if (!InRange(offset, bytes.size(), kMaxOffset)) return Fail(ErrorFromErrno(EFBIG, "write", Place{name, offset}));
  while (!bytes.empty()) {
    const size_t want = std::min<size_t>(bytes.size(), kMaxTransferBytes);
    const ssize_t put = calls.PWrite(fd, bytes.data(), want, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // A device or file system that takes nothing and says nothing would be asked for ever.
    if (put <= 0) return Fail(ErrorFromErrno(put < 0 ? errno : EIO, "write", Place{name, offset}));
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return {};
}

Result<void> SyncDirectoryFd(const SystemCalls& calls, int fd, const std::string& name) {
  if (calls.FSync(fd) == 0 || errno == EINVAL) return {};
  return Fail(ErrorFromErrno(errno, "sync directory", Place{name}));
}

Result<void> CheckReadRange(uint64_t offset, uint64_t length, uint64_t size, const std::string& name) {
  if (InRange(offset, length, size)) return {};
  return Fail(Place{name, offset}, ErrorKind::kCorrupt,
              "range of " + std::to_string(length) + " bytes ends past the end, expected at most " +
                  std::to_string(size) + " bytes in all");
}

}  // namespace dcpctl::io
