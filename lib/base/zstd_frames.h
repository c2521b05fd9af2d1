// The outer structure of a zstd stream: whether a range holds whole frames and nothing else, from the headers of
// frames and blocks alone.
#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl {

// The first number of a frame, skippable ones included. kCorrupt for another: libzstd may decode frames of before
// zstd 0.8, too, with code that hardly anybody has tried to break.
Result<void> CheckZstdMagic(const Place& place, uint32_t magic);

// Goes over the frames in [offset, offset + length) without decoding them: a read of a few bytes for each block, which
// decodes to 128 KiB at most. kCorrupt where a frame is cut off, is none, or is followed by something else.
Result<void> CheckZstdFrames(const ByteSource& source, uint64_t offset, uint64_t length);

}  // namespace dcpctl
