// Reads storages, whatever they are wrapped in, from front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/byte_source.h"
#include "base/inflate.h"
#include "dcpctl/catalog.h"

namespace dcpctl::engine {

// Where a storage is in its file.
struct EncodedStorage {
  StoredTensor stored;
  uint64_t record_offset = 0;  // Codec::kZstd: the encoded record
  uint64_t record_length = 0;
};

// Bytes of the file that hold it.
uint64_t EncodedBytes(const EncodedStorage& storage);

// Calls `sink` with the bytes of the storage, in order. Errors of the sink are passed on; kCorrupt for a
// record that is damaged or decodes to less than it should.
Result<void> StreamStorage(const ByteSource& file, const EncodedStorage& storage, const ByteSink& sink);

// CRC-32 of the storage.
Result<uint32_t> DigestStorage(const ByteSource& file, const EncodedStorage& storage);

// Bytes [begin, end) of what a compressed record decodes to.
struct DecodedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Where in its record, Codec::kZstd, a storage is.
inline DecodedRange RangeOf(const StoredTensor& stored) { return {stored.offset, stored.offset + stored.bytes}; }

// Bytes of ranges[index].
using RangeSink = std::function<Result<void>(size_t index, std::span<const std::byte> bytes)>;

// Decodes the zstd record [offset, offset + length) of the file once, however many ranges are asked for, such as the
// storages of an object. Calls `sink` with the bytes of each range, in order; ranges take turns where they overlap.
// They are sorted by `begin`. Errors as for StreamStorage.
Result<void> StreamRecord(const ByteSource& file, uint64_t offset, uint64_t length,
                          std::span<const DecodedRange> ranges, const RangeSink& sink);

}  // namespace dcpctl::engine
