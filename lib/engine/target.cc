#include "engine/target.h"

#include "base/result.h"

namespace dcpctl::engine {

Result<void> FileTarget::Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) {
  DCPCTL_TRY(files_[output]->WriteAt(offset, bytes));
  files_[output]->StartWriteback(offset, bytes.size());
  return {};
}

Result<void> StreamTarget::Begin(uint64_t number) {
  std::unique_lock lock(mutex_);
  const bool is_turn = changed_.wait(lock, stop_, [&] { return broken_ || turn_ == number; });
  if (!is_turn || broken_) return Fail(ErrorKind::kCancelled, "stopped before the end");
  return {};
}

Result<void> StreamTarget::Write(uint32_t /*output*/, uint64_t offset, std::span<const std::byte> bytes) {
  if (sink_.written() != offset) {
    return Fail(ErrorKind::kInternal,
                "stream is at byte " + std::to_string(sink_.written()) + ", expected " + std::to_string(offset));
  }
  return sink_.Write(bytes);
}

void StreamTarget::End(uint64_t number, bool ok) {
  const std::lock_guard lock(mutex_);
  if (ok && turn_ == number) ++turn_;
  broken_ = broken_ || !ok;
  changed_.notify_all();
}

}  // namespace dcpctl::engine
