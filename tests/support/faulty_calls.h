// The kernel's system calls, with some of them failing, cut short or never returning. Not thread-safe.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/system_calls.h"

namespace dcpctl::test {

class FaultyCalls final : public io::SystemCalls {
 public:
  static constexpr unsigned kAlways = 1'000'000'000;

  // Calls `first` to `first + times - 1` (from 0) of function `name` fail with `err`, without effect.
  void FailCall(const std::string& name, int err, unsigned first = 0, unsigned times = 1) {
    faults_.push_back({.name = name, .err = err, .first = first, .times = times});
  }
  // No transfer moves more than this.
  void LimitTransfers(size_t bytes) { most_bytes_ = bytes; }
  // The process ends before call number `call` (from 0) of all, as if it had been killed.
  void DieAt(unsigned call) { die_at_ = call; }

  [[nodiscard]] unsigned Count(const std::string& name) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }
  [[nodiscard]] unsigned Total() const { return total_; }
  [[nodiscard]] int OpenDescriptors() const { return open_; }

  int OpenAt(int directory, const char* path, int flags, mode_t mode) const override {
    return Fails("OpenAt") ? -1 : Opened(SystemCalls::OpenAt(directory, path, flags, mode));
  }
  int OpenAt2(int directory, const char* path, const open_how& how) const override {
    return Fails("OpenAt2") ? -1 : Opened(SystemCalls::OpenAt2(directory, path, how));
  }
  int Close(int fd) const override {
    --open_;
    const int closed = SystemCalls::Close(fd);  // closes in any case, as the kernel does
    return Fails("Close") ? -1 : closed;
  }
  int FStat(int fd, struct stat& out) const override { return Fails("FStat") ? -1 : SystemCalls::FStat(fd, out); }
  ssize_t PRead(int fd, void* out, size_t count, off_t offset) const override {
    return Fails("PRead") ? -1 : SystemCalls::PRead(fd, out, std::min(count, most_bytes_), offset);
  }
  ssize_t PWrite(int fd, const void* bytes, size_t count, off_t offset) const override {
    return Fails("PWrite") ? -1 : SystemCalls::PWrite(fd, bytes, std::min(count, most_bytes_), offset);
  }
  ssize_t Write(int fd, const void* bytes, size_t count) const override {
    return Fails("Write") ? -1 : SystemCalls::Write(fd, bytes, std::min(count, most_bytes_));
  }
  int FSync(int fd) const override { return Fails("FSync") ? -1 : SystemCalls::FSync(fd); }
  int FAllocate(int fd, off_t offset, off_t length) const override {
    return Fails("FAllocate") ? -1 : SystemCalls::FAllocate(fd, offset, length);
  }
  int FTruncate(int fd, off_t length) const override {
    return Fails("FTruncate") ? -1 : SystemCalls::FTruncate(fd, length);
  }
  int CloneRange(int to, int from, uint64_t from_offset, uint64_t length, uint64_t to_offset) const override {
    return Fails("CloneRange") ? -1 : SystemCalls::CloneRange(to, from, from_offset, length, to_offset);
  }
  int RenameAt2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) const override {
    return Fails("RenameAt2") ? -1 : SystemCalls::RenameAt2(from_directory, from, to_directory, to, flags);
  }
  int LinkAt(int from_directory, const char* from, int to_directory, const char* to) const override {
    return Fails("LinkAt") ? -1 : SystemCalls::LinkAt(from_directory, from, to_directory, to);
  }
  int UnlinkAt(int directory, const char* path, int flags) const override {
    return Fails("UnlinkAt") ? -1 : SystemCalls::UnlinkAt(directory, path, flags);
  }

 private:
  struct Fault {
    std::string name;
    int err;
    unsigned first;
    unsigned times;
  };

  bool Fails(const std::string& name) const {
    if (die_at_ == total_) ::_exit(0);
    ++total_;
    const unsigned call = counts_[name]++;
    for (const Fault& fault : faults_) {
      if (fault.name != name || call < fault.first || call - fault.first >= fault.times) continue;
      errno = fault.err;
      return true;
    }
    return false;
  }

  int Opened(int fd) const {
    if (fd >= 0) ++open_;
    return fd;
  }

  std::vector<Fault> faults_;
  size_t most_bytes_ = size_t{1} << 40;
  std::optional<unsigned> die_at_;
  mutable std::map<std::string, unsigned> counts_;
  mutable unsigned total_ = 0;
  mutable int open_ = 0;
};

}  // namespace dcpctl::test
