// Decodes a raw deflate stream that lies in a range of a ByteSource, piece by piece, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl {

// Gets decoded bytes in order. The view ends with the call; an error stops decoding and is passed on.
using ByteSink = std::function<Result<void>(std::span<const std::byte>)>;

// Decodes [offset, offset + length), which must be exactly one stream, and returns the number of decoded
// bytes. kCorrupt for bad or cut-off data or bytes after it; kLimit as soon as more than `max_decoded` bytes
// come out, of which `sink` never sees more than that.
Result<uint64_t> DecodeDeflate(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded,
                               const ByteSink& sink);

}  // namespace dcpctl
