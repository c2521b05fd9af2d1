#include "engine/turns.h"

namespace dcpctl::engine {

Result<void> Turns::Wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  const bool is_turn = changed_.wait(lock, stop_, [&] { return broken_ || turn_ == number; });
  if (!is_turn || broken_) return Fail(ErrorKind::kCancelled, "stopped before the end");
  return {};
}

void Turns::End(uint64_t number, bool ok) {
  const std::lock_guard lock(mutex_);
  if (ok && turn_ == number) ++turn_;
  broken_ = broken_ || !ok;
  changed_.notify_all();
}

}  // namespace dcpctl::engine
