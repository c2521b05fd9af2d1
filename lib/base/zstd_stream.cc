#include "base/zstd_stream.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/result.h"
#include "base/zstd_frames.h"

namespace dcpctl {
namespace {

// What zstd itself accepts by default; python-zstandard at level 3 writes 2^21.
constexpr int kMaxWindowLog = 27;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdDecoder {
 public:
  ZstdDecoder(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded, const ByteSink& sink)
      : source_(source),
        offset_(offset),
        end_(offset + length),
        max_decoded_(max_decoded),
        sink_(sink),
        // One more than may come out: that it does has to show.
        output_(std::min<uint64_t>(ZSTD_DStreamOutSize() - 1, max_decoded) + 1) {}

  Result<uint64_t> Run() {
    if (!context_) return Fail(ErrorKind::kInternal, "zstd can't be started");
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    if (offset_ == end_) return Broken(ErrorKind::kCorrupt, "zstd record is empty, expected a frame");
    while (Here() != end_ || pending_) {
      if (!in_frame_) DCPCTL_TRY(CheckMagic());
      DCPCTL_TRY(Refill());
      DCPCTL_TRY(Step());
    }
    if (in_frame_) return Broken(ErrorKind::kCorrupt, "zstd frame is cut off");
    return decoded_;
  }

 private:
  // Absolute offset of the first byte that zstd has not taken.
  [[nodiscard]] uint64_t Here() const { return offset_ - (in_.size - in_.pos); }

  tl::unexpected<Error> Broken(ErrorKind kind, std::string message) const {
    return Fail(Place{source_.name(), Here()}, kind, std::move(message));
  }

  Result<void> CheckMagic() const {
    std::array<std::byte, 4> bytes;
    if (end_ - Here() < bytes.size()) return {};  // cut off, as zstd will say
    DCPCTL_TRY(source_.ReadAt(Here(), bytes));
    return CheckZstdMagic({source_.name(), Here()}, ByteCursor(source_.name(), bytes, Here()).U32("magic number"));
  }

  Result<void> Refill() {
    if (in_.pos != in_.size || offset_ == end_) return {};
    input_.resize(std::min<uint64_t>(ZSTD_DStreamInSize(), end_ - offset_));
    DCPCTL_TRY(source_.ReadAt(offset_, input_));
    offset_ += input_.size();
    in_ = {input_.data(), input_.size(), 0};
    return {};
  }

  Result<void> Step() {
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in_);
    if (ZSTD_isError(status)) return BadData(status);
    in_frame_ = status != 0;
    // A full buffer may mean that more output waits although all input is taken.
    pending_ = in_frame_ && out.pos == out.size;
    if (out.pos > max_decoded_ - decoded_) {
      return Broken(ErrorKind::kLimit,
                    "decoded record is larger than " + std::to_string(max_decoded_) + " bytes, expected at most that");
    }
    decoded_ += out.pos;
    if (out.pos == 0) return {};
    return sink_(std::span(output_).first(out.pos));
  }

  tl::unexpected<Error> BadData(size_t status) const {
    if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
      return Broken(ErrorKind::kLimit, "zstd window is larger than " + std::to_string(uint64_t{1} << kMaxWindowLog) +
                                           " bytes, expected at most that");
    }
    return Broken(ErrorKind::kCorrupt, std::string("bad zstd data: ") + ZSTD_getErrorName(status));
  }

  const ByteSource& source_;
  uint64_t offset_;  // of the next byte to read; a range past the end fails there
  uint64_t end_;
  uint64_t max_decoded_;
  const ByteSink& sink_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_{ZSTD_createDCtx()};
  uint64_t decoded_ = 0;
  bool in_frame_ = false;
  bool pending_ = false;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
};

}  // namespace

Result<uint64_t> DecodeZstd(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded,
                            const ByteSink& sink) {
  return ZstdDecoder(source, offset, length, max_decoded, sink).Run();
}

void EdgeSource::Reserve(uint64_t bytes) {
  const uint64_t head = std::min(edge_bytes_, bytes);
  head_.reserve(head);
  tail_.reserve(std::min(edge_bytes_, bytes - head));
}

void EdgeSource::Append(std::span<const std::byte> bytes) {
  const uint64_t to_head = std::min<uint64_t>(edge_bytes_ - head_.size(), bytes.size());
  head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(to_head));
  size_ += to_head;
  AppendTail(bytes.subspan(to_head));
}

void EdgeSource::AppendTail(std::span<const std::byte> bytes) {
  if (bytes.size() > edge_bytes_) {  // the front of it would be overwritten at once
    size_ += bytes.size() - edge_bytes_;
    bytes = bytes.last(edge_bytes_);
  }
  while (!bytes.empty()) {
    const uint64_t pos = size_ % edge_bytes_;
    const uint64_t count = std::min<uint64_t>(edge_bytes_ - pos, bytes.size());
    tail_.resize(std::max<uint64_t>(tail_.size(), pos + count));
    std::memcpy(tail_.data() + pos, bytes.data(), count);
    bytes = bytes.subspan(count);
    size_ += count;
  }
}

bool EdgeSource::Has(uint64_t offset, uint64_t length) const {
  if (!InRange(offset, length, size_)) return false;
  const uint64_t after_head = std::clamp<uint64_t>(head_.size(), offset, offset + length);
  return after_head == offset + length || size_ - after_head <= edge_bytes_;
}

Result<void> EdgeSource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (!InRange(offset, out.size(), size_)) {
    return Fail(Place{name_, offset}, ErrorKind::kCorrupt,
                "range of " + std::to_string(out.size()) + " bytes ends past the end, expected at most " +
                    std::to_string(size_) + " bytes in all");
  }
  const uint64_t from_head = offset < head_.size() ? std::min<uint64_t>(head_.size() - offset, out.size()) : 0;
  if (from_head != 0) std::memcpy(out.data(), head_.data() + offset, from_head);
  offset += from_head;
  out = out.subspan(from_head);
  if (!out.empty() && size_ - offset > edge_bytes_) {
    return Fail(Place{name_, offset}, ErrorKind::kLimit,
                std::to_string(out.size()) + " bytes are in the middle of a decoded stream of " +
                    std::to_string(size_) + " bytes, expected at its first or last " + std::to_string(edge_bytes_));
  }
  while (!out.empty()) {
    const uint64_t pos = offset % edge_bytes_;
    const uint64_t count = std::min<uint64_t>(edge_bytes_ - pos, out.size());
    std::memcpy(out.data(), tail_.data() + pos, count);
    offset += count;
    out = out.subspan(count);
  }
  return {};
}

}  // namespace dcpctl
