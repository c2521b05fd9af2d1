// Preloaded: calls that transfer bytes move half of what was asked, as they may, and every fifth is interrupted
// instead. At its end a process adds a line to the file that SHORT_CALLS_LOG names: calls cut and interrupted.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr size_t kLeastCut = 16;  // shorter ones are no data: an event counter takes 8 bytes or fails
constexpr unsigned kInterruptEvery = 5;

std::atomic<unsigned> calls = 0;
std::atomic<unsigned> cut = 0;
std::atomic<unsigned> interrupted = 0;

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Calls `function` with a smaller count.
template <typename Function>
ssize_t Shortly(size_t count, const Function& function) {
  if (count < kLeastCut) return function(count);
  if (++calls % kInterruptEvery == 0) {
    ++interrupted;
    errno = EINTR;
    return -1;
  }
  ++cut;
  return function(count / 2);
}

struct Log {
  ~Log() {
    const char* const path = std::getenv("SHORT_CALLS_LOG");
    if (path == nullptr) return;
    std::FILE* const file = std::fopen(path, "a");
    if (file == nullptr) return;
    std::fprintf(file, "%u %u\n", cut.load(), interrupted.load());
    std::fclose(file);
  }
} const log_at_end;

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t count) {
  static auto* const next = Next<decltype(write)>("write");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer); });
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  static auto* const next = Next<decltype(pwrite)>("pwrite");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer, offset); });
}

ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  static auto* const next = Next<decltype(pwrite64)>("pwrite64");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer, offset); });
}

ssize_t read(int fd, void* bytes, size_t count) {
  static auto* const next = Next<decltype(read)>("read");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer); });
}

ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  static auto* const next = Next<decltype(pread)>("pread");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer, offset); });
}

ssize_t pread64(int fd, void* bytes, size_t count, off64_t offset) {
  static auto* const next = Next<decltype(pread64)>("pread64");
  return Shortly(count, [&](size_t fewer) { return next(fd, bytes, fewer, offset); });
}

}  // extern "C"
