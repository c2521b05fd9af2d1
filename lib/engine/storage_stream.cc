#include "engine/storage_stream.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "base/result.h"
#include "base/zstd_stream.h"

namespace dcpctl::engine {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

// Passes on parts of a decoded stream.
class Windows {
 public:
  Windows(std::span<const DecodedRange> ranges, const RangeSink& sink) : ranges_(ranges), sink_(sink) {}

  Result<void> operator()(std::span<const std::byte> bytes) {
    const uint64_t after = position_ + bytes.size();
    for (; next_ < ranges_.size() && ranges_[next_].begin < after; ++next_) open_.push_back(next_);
    for (const size_t index : open_) {
      const uint64_t from = std::max(ranges_[index].begin, position_) - position_;
      const uint64_t to = std::min(ranges_[index].end, after) - position_;
      if (from < to) DCPCTL_TRY(sink_(index, bytes.subspan(from, to - from)));
    }
    std::erase_if(open_, [&](size_t index) { return ranges_[index].end <= after; });
    position_ = after;
    return {};
  }

 private:
  const std::span<const DecodedRange> ranges_;
  const RangeSink& sink_;
  size_t next_ = 0;           // the first that has not begun
  std::vector<size_t> open_;  // begun, and not at their ends
  uint64_t position_ = 0;
};

Result<void> ExpectDecoded(const ByteSource& file, uint64_t offset, uint64_t decoded, uint64_t needed) {
  if (decoded >= needed) return {};
  return Fail(Place{.file = file.name(), .offset = offset}, ErrorKind::kCorrupt,
              "decodes to " + std::to_string(decoded) + " bytes, expected at least " + std::to_string(needed));
}

Result<void> StreamPlain(const ByteSource& file, const StoredTensor& stored, const ByteSink& sink) {
  std::vector<std::byte> buffer(std::min(kReadBytes, stored.bytes));
  for (uint64_t pos = 0; pos < stored.bytes; pos += buffer.size()) {
    const auto part = std::span(buffer).first(std::min<uint64_t>(buffer.size(), stored.bytes - pos));
    DCPCTL_TRY(file.ReadAt(stored.offset + pos, part));
    DCPCTL_TRY(sink(part));
  }
  return {};
}

}  // namespace

uint64_t EncodedBytes(const EncodedStorage& storage) {
  switch (storage.stored.codec) {
    case Codec::kNone: break;
    case Codec::kZstd: return storage.record_length;
    case Codec::kDeflate: return storage.stored.encoded_bytes;
  }
  return storage.stored.bytes;
}

Result<void> StreamStorage(const ByteSource& file, const EncodedStorage& storage, const ByteSink& sink) {
  const StoredTensor& stored = storage.stored;
  switch (stored.codec) {
    case Codec::kNone: break;
    case Codec::kZstd: {
      const DecodedRange range = RangeOf(stored);
      return StreamRecord(file, storage.record_offset, storage.record_length, std::span(&range, 1),
                          [&sink](size_t, std::span<const std::byte> bytes) { return sink(bytes); });
    }
    case Codec::kDeflate: {
      DCPCTL_ASSIGN(const uint64_t decoded,
                    DecodeDeflate(file, stored.offset, stored.encoded_bytes, stored.bytes, sink));
      return ExpectDecoded(file, stored.offset, decoded, stored.bytes);
    }
  }
  return StreamPlain(file, stored, sink);
}

Result<uint32_t> DigestStorage(const ByteSource& file, const EncodedStorage& storage) {
  uint32_t crc = 0;
  DCPCTL_TRY(StreamStorage(file, storage, [&crc](std::span<const std::byte> bytes) -> Result<void> {
    crc = Crc32(bytes, crc);
    return {};
  }));
  return crc;
}

Result<void> StreamRecord(const ByteSource& file, uint64_t offset, uint64_t length,
                          std::span<const DecodedRange> ranges, const RangeSink& sink) {
  uint64_t needed = 0;
  for (const DecodedRange& range : ranges) needed = std::max(needed, range.end);
  // Whatever comes behind them may be of any size: the survey decoded all of it, within limits.
  DCPCTL_ASSIGN(const uint64_t decoded, DecodeZstd(file, offset, length, UINT64_MAX, Windows(ranges, sink)));
  return ExpectDecoded(file, offset, decoded, needed);
}

}  // namespace dcpctl::engine
