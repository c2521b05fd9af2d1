#include "engine/zstd_target.h"

#include "base/result.h"

namespace dcpctl::engine {

Result<void> ZstdTarget::Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) {
  if (offset != taken_) {
    return Fail(ErrorKind::kInternal,
                "stream is at byte " + std::to_string(taken_) + ", expected " + std::to_string(offset));
  }
  if (offset == 0) DCPCTL_TRY(BeginOutput(output));
  DCPCTL_TRY(writer_.Write(bytes, [this](std::span<const std::byte> out) { return Append(out); }));
  taken_ += bytes.size();
  return taken_ == plan_.outputs[output].bytes ? EndOutput(output) : Result<void>();
}

Result<void> ZstdTarget::BeginOutput(uint32_t output) {
  if (!file_) {
    DCPCTL_ASSIGN(file_, files_.CreateTemp(directory_ / plan_.outputs[output].path));
    file_bytes_ = 0;
  }
  extents_[output].offset = file_bytes_;
  return writer_.Begin(plan_.outputs[output].bytes);
}

Result<void> ZstdTarget::EndOutput(uint32_t output) {
  DCPCTL_TRY(writer_.End([this](std::span<const std::byte> out) { return Append(out); }));
  extents_[output].length = file_bytes_ - extents_[output].offset;
  taken_ = 0;
  const bool goes_on =
      output + 1 < plan_.outputs.size() && plan_.outputs[output + 1].path == plan_.outputs[output].path;
  if (goes_on) return {};
  DCPCTL_TRY(file_->Commit(false));
  file_.reset();
  return {};
}

Result<void> ZstdTarget::Append(std::span<const std::byte> bytes) {
  DCPCTL_TRY(file_->WriteAt(file_bytes_, bytes));
  file_->StartWriteback(file_bytes_, bytes.size());
  file_bytes_ += bytes.size();
  return {};
}

}  // namespace dcpctl::engine
