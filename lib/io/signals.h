// SIGINT and SIGTERM as a request to stop: the first calls back, a second ends the process at once. SIGPIPE is
// ignored, so a closed pipe is an error of write. One watcher a process, made before any other thread, since
// threads inherit what it blocks.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace dcpctl::io {

class SignalWatcher {
 public:
  // `on_first` runs on a thread of its own. A signal that the parent ignores (nohup) stays ignored.
  explicit SignalWatcher(std::function<void()> on_first);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // 128 + number of the signal that came, as a shell reports it; 130 when none did.
  [[nodiscard]] int ExitStatus() const;

 private:
  void Watch(const std::function<void()>& on_first);

  int signals_ = -1;  // a signalfd
  int wake_ = -1;     // an eventfd: the destructor's
  std::atomic<int> received_{0};
  std::jthread thread_;
};

}  // namespace dcpctl::io
