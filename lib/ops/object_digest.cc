#include "ops/object_digest.h"

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
  ObjectDigester(io::FileCache& cache, const ObjectValue& value) : cache_(cache), storages_(value) {}

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
    const auto known = bytes_.find(key);
    if (known == bytes_.end()) {
      DCPCTL_ASSIGN(const Sha256Digest bytes, OfBytes(*storage));
      sum.Add(bytes_.emplace(key, bytes).first->second);
    } else {
      sum.Add(known->second);
    }
    return sum.Finish();
  }

 private:
  Result<Sha256Digest> OfBytes(const ObjectStorage& storage) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(storage.file));
    LittleEndianSum sum(storage.stored.big_endian ? storage.swap_unit : 1);
    uint32_t crc = 0;
    const engine::EncodedStorage encoded{
        .stored = storage.stored, .record_offset = storage.record_offset, .record_length = storage.record_length};
    DCPCTL_TRY(engine::StreamStorage(*file, encoded, [&](std::span<const std::byte> bytes) -> Result<void> {
      crc = Crc32(bytes, crc);
      sum.Add(bytes);
      return {};
    }));
    if (storage.stored.crc_known && crc != storage.stored.crc) {
      return Fail(Place{.file = file->name(), .offset = storage.stored.offset}, ErrorKind::kCorrupt,
                  "CRC-32 of the storage is " + Hex(crc, 8) + ", expected " + Hex(storage.stored.crc, 8) +
                      " as its writer recorded it");
    }
    return sum.Finish();
  }

  io::FileCache& cache_;
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
