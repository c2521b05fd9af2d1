#include "ops/object_digest.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "engine/element_copy.h"
#include "engine/storage_stream.h"
#include "ops/object_storages.h"
#include "pickle/canonical.h"

namespace dcpctl::ops {
namespace {

// Sums a storage as little-endian bytes, whatever parts it comes in.
class LittleEndianSum {
 public:
  explicit LittleEndianSum(uint64_t unit) : unit_(unit) {}

  void Add(std::span<const std::byte> bytes) {
    if (unit_ == 1) return sum_.Add(bytes);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    const auto whole = std::span(buffer_).first(buffer_.size() / unit_ * unit_);
    engine::SwapBytes(whole, unit_);
    sum_.Add(whole);
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(whole.size()));
  }
  Sha256Digest Finish() {
    sum_.Add(buffer_);
    return sum_.Finish();
  }

 private:
  const uint64_t unit_;  // bytes to be turned around
  Sha256 sum_;
  std::vector<std::byte> buffer_;  // what is left of a unit
};

class ObjectDigester {
 public:
  ObjectDigester(io::FileCache& cache, const ObjectValue& value) : cache_(cache), value_(value), storages_(value) {}

  // Five values, as the survey left them: ('storage', class, key, location, items).
  Result<Sha256Digest> OfStorage(pickle::Value id) {
    const std::string key(id[2].AsText());
    Sha256 sum;
    sum.Add(id[1].name());
    sum.Add(" " + std::to_string(id[4].AsInt()) + " ");
    const ObjectStorage* const storage = storages_.Find(key);
    if (storage == nullptr) {  // on the meta device: it has no bytes
      sum.Add("meta");
      return sum.Finish();
    }
    if (!bytes_.contains(key)) DCPCTL_TRY(ReadWithItsRecord(*storage));
    sum.Add(bytes_.at(key));
    return sum.Finish();
  }

 private:
  // A storage that is being read.
  struct Reading {
    explicit Reading(const ObjectStorage& of) : storage(&of), sum(of.stored.big_endian ? of.swap_unit : 1) {}
    void Add(std::span<const std::byte> bytes) {
      crc = Crc32(bytes, crc);
      sum.Add(bytes);
    }

    const ObjectStorage* storage;
    LittleEndianSum sum;
    uint32_t crc = 0;
  };

  // Of a compressed record all storages at once.
  Result<void> ReadWithItsRecord(const ObjectStorage& storage) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(storage.file));
    std::vector<Reading> readings;
    if (storage.stored.codec == Codec::kZstd) {
      readings = ReadingsOfRecord(storage);
      std::vector<engine::DecodedRange> ranges;
      for (const Reading& reading : readings) ranges.push_back(engine::RangeOf(reading.storage->stored));
      DCPCTL_TRY(engine::StreamRecord(*file, storage.record_offset, storage.record_length, ranges,
                                      [&](size_t i, std::span<const std::byte> bytes) -> Result<void> {
                                        readings[i].Add(bytes);
                                        return {};
                                      }));
    } else {
      readings.emplace_back(storage);
      DCPCTL_TRY(engine::StreamStorage(*file, {.stored = storage.stored},
                                       [&](std::span<const std::byte> bytes) -> Result<void> {
                                         readings[0].Add(bytes);
                                         return {};
                                       }));
    }
    for (Reading& reading : readings) DCPCTL_TRY(Finish(*file, reading));
    return {};
  }

  [[nodiscard]] std::vector<Reading> ReadingsOfRecord(const ObjectStorage& storage) const {
    std::vector<const ObjectStorage*> storages;
    for (const ObjectStorage& other : value_.storages) {
      if (other.stored.codec == Codec::kZstd && other.file == storage.file &&
          other.record_offset == storage.record_offset && other.record_length == storage.record_length)
        storages.push_back(&other);
    }
    std::sort(storages.begin(), storages.end(),
              [](const auto* a, const auto* b) { return a->stored.offset < b->stored.offset; });
    std::vector<Reading> readings;
    for (const ObjectStorage* of : storages) readings.emplace_back(*of);
    return readings;
  }

  Result<void> Finish(const ByteSource& file, Reading& reading) {
    const StoredTensor& stored = reading.storage->stored;
    if (stored.crc_known && reading.crc != stored.crc) {
      return Fail(Place{.file = file.name(), .offset = stored.offset}, ErrorKind::kCorrupt,
                  "CRC-32 of the storage is " + Hex(reading.crc, 8) + ", expected " + Hex(stored.crc, 8) +
                      " as its writer recorded it");
    }
    bytes_.emplace(reading.storage->key, reading.sum.Finish());
    return {};
  }

  io::FileCache& cache_;
  const ObjectValue& value_;
  const ObjectStorages storages_;
  TextMap<Sha256Digest> bytes_;  // of storages, by key
};

}  // namespace

Result<Sha256Digest> ObjectDigests::Of(const Object& object) {
  const ObjectValue* const value = object.value.get();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
  }
  ObjectDigester digester(cache_, *value);
  auto digest = pickle::CanonicalDigest(
      value->document.root(), [&](pickle::Value id) { return digester.OfStorage(id); }, limits_);
  if (!digest) return Fail(std::move(digest).error().In("entry " + Quote(object.key)));
  const std::lock_guard lock(mutex_);
  known_.emplace(value, *digest);
  return digest;
}

}  // namespace dcpctl::ops
