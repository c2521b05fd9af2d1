#include "engine/directory_target.h"

#include <utility>

#include "base/result.h"

namespace dcpctl::engine {

Result<io::WriteFile*> DirectoryTarget::File(uint32_t output) {
  Slot& slot = slots_[output];
  const std::lock_guard lock(slot.mutex);
  if (!slot.file) {
    DCPCTL_ASSIGN(auto file, files_.CreateTemp(directory_ / plan_.outputs[output].path));
    DCPCTL_TRY(file->Allocate(plan_.outputs[output].bytes));
    slot.file = std::move(file);
  }
  return slot.file.get();
}

Result<void> DirectoryTarget::Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) {
  DCPCTL_ASSIGN(io::WriteFile* const file, File(output));
  DCPCTL_TRY(file->WriteAt(offset, bytes));
  file->StartWriteback(offset, bytes.size());
  return {};
}

Result<void> DirectoryTarget::Publish(uint32_t output) {
  DCPCTL_ASSIGN(io::WriteFile* const file, File(output));
  DCPCTL_TRY(file->Commit(false));
  slots_[output].file.reset();
  return {};
}

Result<void> DirectoryTarget::Finish(uint32_t output) {
  return plan_.outputs[output].path == last_ ? Result<void>() : Publish(output);
}

Result<void> DirectoryTarget::FinishEmpty() {
  for (uint32_t output = 0; output < slots_.size(); ++output) {
    if (plan_.outputs[output].bytes == 0) DCPCTL_TRY(Finish(output));
  }
  return {};
}

Result<void> DirectoryTarget::FinishLast() {
  for (uint32_t output = 0; output < slots_.size(); ++output) {
    if (plan_.outputs[output].path == last_) DCPCTL_TRY(Publish(output));
  }
  return {};
}

}  // namespace dcpctl::engine
