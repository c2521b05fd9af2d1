#include "engine/storage_stream.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "base/result.h"
#include "base/zstd_stream.h"

namespace dcpctl::engine {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

// Passes on the part [begin, end) of a decoded stream.
class Window {
 public:
  Window(uint64_t begin, uint64_t end, const ByteSink& sink) : begin_(begin), end_(end), sink_(sink) {}

  Result<void> operator()(std::span<const std::byte> bytes) {
    const uint64_t from = std::clamp(begin_, position_, position_ + bytes.size()) - position_;
    const uint64_t to = std::clamp(end_, position_, position_ + bytes.size()) - position_;
    position_ += bytes.size();
    return from < to ? sink_(bytes.subspan(from, to - from)) : Result<void>();
  }

 private:
  const uint64_t begin_;
  const uint64_t end_;
  const ByteSink& sink_;
  uint64_t position_ = 0;
};

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
  Place place{.file = file.name(), .offset = stored.offset};
  uint64_t decoded = 0;
  uint64_t needed = stored.bytes;
  switch (stored.codec) {
    case Codec::kNone: return StreamPlain(file, stored, sink);
    case Codec::kZstd: {
      place.offset = storage.record_offset;
      needed += stored.offset;
      // Whatever comes behind it, such as other storages of an object. The survey decoded all of it once, within
      // limits.
      DCPCTL_ASSIGN(decoded, DecodeZstd(file, storage.record_offset, storage.record_length, UINT64_MAX,
                                        Window(stored.offset, needed, sink)));
      break;
    }
    case Codec::kDeflate: {
      DCPCTL_ASSIGN(decoded, DecodeDeflate(file, stored.offset, stored.encoded_bytes, stored.bytes, sink));
      break;
    }
  }
  if (decoded >= needed) return {};
  return Fail(std::move(place), ErrorKind::kCorrupt,
              "decodes to " + std::to_string(decoded) + " bytes, expected at least " + std::to_string(needed));
}

Result<uint32_t> DigestStorage(const ByteSource& file, const EncodedStorage& storage) {
  uint32_t crc = 0;
  DCPCTL_TRY(StreamStorage(file, storage, [&crc](std::span<const std::byte> bytes) -> Result<void> {
    crc = Crc32(bytes, crc);
    return {};
  }));
  return crc;
}

}  // namespace dcpctl::engine
