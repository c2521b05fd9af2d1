// The system calls whose failures and fall-backs tests must be able to force, one virtual function each. A function
// here does what its system call does, with the same result and errno, and nothing more: the loops and decisions
// are in the callers. Thread-safe.
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace dcpctl::io {

class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int OpenAt(int directory, const char* path, int flags, mode_t mode) const;
  virtual int OpenAt2(int directory, const char* path, const open_how& how) const;
  virtual int Close(int fd) const;
  virtual int FStat(int fd, struct stat& out) const;
  virtual ssize_t PRead(int fd, void* out, size_t count, off_t offset) const;
  virtual ssize_t PWrite(int fd, const void* bytes, size_t count, off_t offset) const;
  virtual ssize_t Write(int fd, const void* bytes, size_t count) const;
  virtual int FSync(int fd) const;
  virtual int FAllocate(int fd, off_t offset, off_t length) const;
  virtual int FTruncate(int fd, off_t length) const;
  virtual int CloneRange(int to, int from, uint64_t from_offset, uint64_t length, uint64_t to_offset) const;
  virtual int RenameAt2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) const;
  virtual int LinkAt(int from_directory, const char* from, int to_directory, const char* to) const;
  virtual int UnlinkAt(int directory, const char* path, int flags) const;
};

// The kernel's own.
const SystemCalls& KernelCalls();

}  // namespace dcpctl::io
