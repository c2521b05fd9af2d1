#include "io/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace dcpctl::io {
namespace {

constexpr int kSignalStatusBase = 128;

bool IsIgnored(int signal) {
  struct sigaction current {};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void()> on_first) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!IsIgnored(signal)) ::sigaddset(&watched, signal);
  }
  signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  // Without them the signals keep their usual effect, which is to end the process.
  if (signals_ < 0 || wake_ < 0) return;
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  thread_ = std::jthread([this, callback = std::move(on_first)] { Watch(callback); });
}

SignalWatcher::~SignalWatcher() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (::write(wake_, &one, sizeof one) < 0 && errno == EINTR) continue;
    thread_.join();
  }
  if (signals_ >= 0) ::close(signals_);
  if (wake_ >= 0) ::close(wake_);
}

void SignalWatcher::Watch(const std::function<void()>& on_first) {
  std::array<pollfd, 2> waiting = {pollfd{signals_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
  for (;;) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (received_ != 0) ::_exit(kSignalStatusBase + static_cast<int>(info.ssi_signo));
      received_ = static_cast<int>(info.ssi_signo);
      on_first();
    }
    if ((waiting[1].revents & POLLIN) != 0) return;
  }
}

int SignalWatcher::ExitStatus() const { return kSignalStatusBase + (received_ == 0 ? SIGINT : received_.load()); }

}  // namespace dcpctl::io
