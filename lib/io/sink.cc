#include "io/sink.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/file.h"
#include "io/unique_fd.h"

namespace dcpctl::io {
namespace {

constexpr size_t kMaxWriteBytes = size_t{1} << 30;  // see transfer.cc
// A pipe that poll() calls writable takes this much without blocking.
constexpr size_t kPipeBytes = PIPE_BUF;
constexpr int kLookForStopMs = 100;

// Whether a write may wait for somebody to read.
bool IsPipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

class FileSink final : public Sink {
 public:
  explicit FileSink(WriteFile& file) : file_(file), name_(file.target().string()) {}

  Result<void> Write(std::span<const std::byte> bytes) override {
    DCPCTL_TRY(file_.WriteAt(written_, bytes));
    written_ += bytes.size();
    return {};
  }
  Result<void> Finish() override { return {}; }
  [[nodiscard]] uint64_t written() const override { return written_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  WriteFile& file_;
  std::string name_;
  uint64_t written_ = 0;
};

class StreamSink final : public Sink {
 public:
  StreamSink(const SystemCalls& calls, int fd, std::string name)
      : calls_(calls), fd_(calls, fd), name_(std::move(name)), is_pipe_(IsPipe(fd)) {}

  void StopWhen(std::stop_token stop) override { stop_ = std::move(stop); }

  Result<void> Write(std::span<const std::byte> bytes) override {
    const bool may_wait = is_pipe_ && stop_.stop_possible();
    while (!bytes.empty()) {
      if (may_wait) DCPCTL_TRY(WaitForReader());
      const ssize_t put =
          calls_.Write(fd_.get(), bytes.data(), std::min(bytes.size(), may_wait ? kPipeBytes : kMaxWriteBytes));
      if (put > 0) {
        written_ += static_cast<uint64_t>(put);
        bytes = bytes.subspan(static_cast<size_t>(put));
      } else {
        DCPCTL_TRY(Recover(put < 0 ? errno : EIO));
      }
    }
    return {};
  }

  Result<void> Finish() override {
    // EINTR: Linux has closed the descriptor all the same.
    if (fd_ && calls_.Close(fd_.Release()) != 0 && errno != EINTR) {
      return Fail(ErrorFromErrno(errno, "close", Place{name_}));
    }
    return {};
  }

  [[nodiscard]] uint64_t written() const override { return written_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  Result<void> WaitForReader() {
    pollfd waiting{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
    while (!stop_.stop_requested()) {
      // Anything but silence, errors too, is for the write itself to find out.
      if (::poll(&waiting, 1, kLookForStopMs) > 0) return {};
    }
    return Fail(ErrorKind::kCancelled, "stopped before the end");
  }

  // Nothing, when the write is worth another try.
  Result<void> Recover(int err) {
    if (err == EINTR) return {};
    if (err == EAGAIN) {
      pollfd waiting{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
      if (::poll(&waiting, 1, -1) >= 0 || errno == EINTR) return {};
      err = errno;
    }
    if (err == EPIPE) return Fail(Place{name_, written_}, ErrorKind::kIo, "reader closed the pipe");
    return Fail(ErrorFromErrno(err, "write", Place{name_, written_}));
  }

  const SystemCalls& calls_;
  UniqueFd fd_;
  std::string name_;
  const bool is_pipe_;
  std::stop_token stop_;
  uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<Sink> NewFileSink(WriteFile& file) { return std::make_unique<FileSink>(file); }

std::unique_ptr<Sink> NewStreamSink(int fd, std::string name, const SystemCalls* calls) {
  return std::make_unique<StreamSink>(calls != nullptr ? *calls : KernelCalls(), fd, std::move(name));
}

Result<std::unique_ptr<Sink>> OpenStandardOutput() {
  const int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Fail(ErrorFromErrno(errno, "open", Place{"standard output"}));
  return NewStreamSink(fd, "standard output");
}

}  // namespace dcpctl::io
