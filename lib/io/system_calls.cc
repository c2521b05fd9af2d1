#include "io/system_calls.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

namespace dcpctl::io {

int SystemCalls::OpenAt(int directory, const char* path, int flags, mode_t mode) const {
  return ::openat(directory, path, flags, mode);
}

int SystemCalls::OpenAt2(int directory, const char* path, const open_how& how) const {
  // No wrapper in the C library yet.
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

int SystemCalls::Close(int fd) const { return ::close(fd); }

int SystemCalls::FStat(int fd, struct stat& out) const { return ::fstat(fd, &out); }

ssize_t SystemCalls::PRead(int fd, void* out, size_t count, off_t offset) const {
  return ::pread(fd, out, count, offset);
}

ssize_t SystemCalls::PWrite(int fd, const void* bytes, size_t count, off_t offset) const {
  return ::pwrite(fd, bytes, count, offset);
}

ssize_t SystemCalls::Write(int fd, const void* bytes, size_t count) const { return ::write(fd, bytes, count); }

int SystemCalls::FSync(int fd) const { return ::fsync(fd); }

int SystemCalls::FAllocate(int fd, off_t offset, off_t length) const { return ::fallocate(fd, 0, offset, length); }

int SystemCalls::FTruncate(int fd, off_t length) const { return ::ftruncate(fd, length); }

int SystemCalls::CloneRange(int to, int from, uint64_t from_offset, uint64_t length, uint64_t to_offset) const {
  file_clone_range range{};
  range.src_fd = from;
  range.src_offset = from_offset;
  range.src_length = length;
  range.dest_offset = to_offset;
  return ::ioctl(to, FICLONERANGE, &range);
}

int SystemCalls::RenameAt2(int from_directory, const char* from, int to_directory, const char* to,
                           unsigned flags) const {
  return ::renameat2(from_directory, from, to_directory, to, flags);
}

int SystemCalls::LinkAt(int from_directory, const char* from, int to_directory, const char* to) const {
  return ::linkat(from_directory, from, to_directory, to, 0);
}

int SystemCalls::UnlinkAt(int directory, const char* path, int flags) const {
  return ::unlinkat(directory, path, flags);
}

const SystemCalls& KernelCalls() {
  static const SystemCalls calls;  // no state
  return calls;
}

}  // namespace dcpctl::io
