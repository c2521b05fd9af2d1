#include "base/zstd_frames.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/quote.h"
#include "base/result.h"

namespace dcpctl {
namespace {

// RFC 8878, 3.1.
constexpr uint32_t kFrameMagic = 0xfd2fb528;
constexpr uint32_t kSkippableMagic = 0x184d2a50;  // and the 15 after it
constexpr uint32_t kSkippableMask = 0xfffffff0;
constexpr uint64_t kBlockHeaderBytes = 3;
constexpr uint64_t kChecksumBytes = 4;
// Magic number, descriptor, window, dictionary id and content size at their longest.
constexpr uint64_t kLongestHeader = 4 + 1 + 1 + 4 + 8;
constexpr std::array<uint64_t, 4> kDictionaryBytes = {0, 1, 2, 4};
constexpr std::array<uint64_t, 4> kContentSizeBytes = {0, 2, 4, 8};

bool IsSkippable(uint32_t magic) { return (magic & kSkippableMask) == kSkippableMagic; }

class FrameWalk {
 public:
  FrameWalk(const ByteSource& source, uint64_t offset, uint64_t length)
      : source_(source), begin_(offset), offset_(offset), end_(offset + length) {}

  Result<void> Run() {
    if (offset_ == end_) return CutOff();
    while (offset_ < end_) DCPCTL_TRY(Frame());
    return {};
  }

 private:
  Result<void> Frame() {
    const uint64_t count = std::min(kLongestHeader, end_ - offset_);
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source_, offset_, count));
    if (bytes.size() < 4 + 4) return CutOff();
    ByteCursor in(source_.name(), bytes, offset_);
    const uint32_t magic = in.U32("magic number");
    DCPCTL_TRY(CheckZstdMagic({source_.name(), offset_}, magic));
    if (IsSkippable(magic)) return Pass(4 + 4 + uint64_t{in.U32("length")});
    const uint8_t descriptor = in.U8("descriptor");
    const bool single_segment = (descriptor >> 5 & 1) != 0;
    const uint64_t size_bytes = kContentSizeBytes[descriptor >> 6];
    DCPCTL_TRY(Pass(4 + 1 + (single_segment ? 0 : 1) + kDictionaryBytes[descriptor & 3] +
                    (size_bytes == 0 && single_segment ? 1 : size_bytes)));
    DCPCTL_TRY(Blocks());
    const bool has_checksum = (descriptor >> 2 & 1) != 0;
    return Pass(has_checksum ? kChecksumBytes : 0);
  }

  Result<void> Blocks() {
    for (bool last = false; !last;) {
      if (end_ - offset_ < kBlockHeaderBytes) return CutOff();
      std::array<std::byte, kBlockHeaderBytes> bytes;
      DCPCTL_TRY(source_.ReadAt(offset_, bytes));
      const uint32_t header = std::to_integer<uint32_t>(bytes[0]) | std::to_integer<uint32_t>(bytes[1]) << 8 |
                              std::to_integer<uint32_t>(bytes[2]) << 16;
      last = (header & 1) != 0;
      enum : uint32_t { kRaw, kRle, kCompressed, kReserved };
      const uint32_t type = header >> 1 & 3;
      if (type == kReserved) return Refuse("zstd block is of the reserved type, expected another");
      DCPCTL_TRY(Pass(kBlockHeaderBytes + (type == kRle ? 1 : header >> 3)));
    }
    return {};
  }

  Result<void> Pass(uint64_t count) {
    if (count > end_ - offset_) return CutOff();
    offset_ += count;
    return {};
  }

  [[nodiscard]] Result<void> CutOff() const {
    return Refuse("zstd frame is cut off after " + std::to_string(end_ - begin_) + " bytes, expected its end");
  }
  [[nodiscard]] Result<void> Refuse(std::string message) const {
    return Fail(Place{source_.name(), offset_}, ErrorKind::kCorrupt, std::move(message));
  }

  const ByteSource& source_;
  const uint64_t begin_;
  uint64_t offset_;
  const uint64_t end_;
};

}  // namespace

Result<void> CheckZstdMagic(const Place& place, uint32_t magic) {
  if (magic == kFrameMagic || IsSkippable(magic)) return {};
  return Fail(place, ErrorKind::kCorrupt,
              "zstd frame begins with " + Hex(magic, 8) + ", expected " + Hex(kFrameMagic, 8));
}

Result<void> CheckZstdFrames(const ByteSource& source, uint64_t offset, uint64_t length) {
  return FrameWalk(source, offset, length).Run();
}

}  // namespace dcpctl
