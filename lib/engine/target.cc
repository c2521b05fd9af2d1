#include "engine/target.h"

#include "base/result.h"

namespace dcpctl::engine {

Result<void> FileTarget::Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) {
  DCPCTL_TRY(files_[output]->WriteAt(offset, bytes));
  files_[output]->StartWriteback(offset, bytes.size());
  return {};
}

Result<void> StreamTarget::Write(uint32_t /*output*/, uint64_t offset, std::span<const std::byte> bytes) {
  if (sink_.written() != offset) {
    return Fail(ErrorKind::kInternal,
                "stream is at byte " + std::to_string(sink_.written()) + ", expected " + std::to_string(offset));
  }
  return sink_.Write(bytes);
}

}  // namespace dcpctl::engine
