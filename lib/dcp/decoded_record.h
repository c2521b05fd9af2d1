// A zstd record, decoded, as far as an archive in it is looked at: both ends are held, with the pickle and the
// directory; and the local headers of records in the middle, once the directory says where they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/zstd_stream.h"
#include "dcpctl/error.h"
#include "zip/read.h"

namespace dcpctl::dcp {

// Offsets count decoded bytes. Thread-safe like any source once it is filled.
class DecodedRecord final : public ByteSource {
 public:
  // The record is [offset, offset + length) of `file`, which outlives it.
  DecodedRecord(const ByteSource& file, uint64_t offset, uint64_t length)
      : file_(file), offset_(offset), length_(length), edges_(file.name()) {}

  // Holds `edge_bytes` at either end; when it is called again, more. Errors: those of DecodeZstd.
  Result<void> Decode(uint64_t max_decoded, uint64_t edge_bytes = EdgeSource::kDefaultEdgeBytes);
  // Decodes once more if there is a header that is not held.
  Result<void> HoldHeaders(const zip::Directory& directory);

  // kLimit for bytes that are not held.
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] uint64_t size() const override { return edges_.size(); }
  [[nodiscard]] const std::string& name() const override { return edges_.name(); }

 private:
  const ByteSource& file_;
  const uint64_t offset_;
  const uint64_t length_;
  EdgeSource edges_;
  std::map<uint64_t, std::vector<std::byte>> headers_;  // by offset; none overlaps another
};

}  // namespace dcpctl::dcp
