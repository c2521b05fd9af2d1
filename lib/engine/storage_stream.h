// Reads one storage, whatever it is wrapped in, from front to back.
#pragma once

#include <cstdint>

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

}  // namespace dcpctl::engine
