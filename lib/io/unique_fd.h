// Owner of one file descriptor. `calls` must outlive it.
#pragma once

#include <utility>

#include "io/system_calls.h"

namespace dcpctl::io {

class UniqueFd {
 public:
  UniqueFd() = default;
  UniqueFd(const SystemCalls& calls, int fd) : calls_(&calls), fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : calls_(other.calls_), fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      calls_ = other.calls_;
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor up.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

 private:
  void Reset() {
    if (fd_ >= 0) calls_->Close(std::exchange(fd_, -1));
  }

  const SystemCalls* calls_ = nullptr;
  int fd_ = -1;
};

}  // namespace dcpctl::io
