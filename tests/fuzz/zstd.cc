// Any bytes as a compressed record: what decodes is made of whole frames, and no more comes out than may.
#include "base/zstd_frames.h"
#include "base/zstd_stream.h"
#include "fuzz/targets.h"

namespace dcpctl::fuzz {

void FuzzZstd(Bytes input) {
  constexpr uint64_t kMostDecoded = 32 << 10;
  constexpr uint64_t kEdgeBytes = 256;
  const MemorySource source = SourceOf(input);
  EdgeSource edges("input", kEdgeBytes);
  uint64_t seen = 0;
  const auto decoded = DecodeZstd(source, 0, source.size(), kMostDecoded, [&](Bytes piece) -> Result<void> {
    seen += piece.size();
    edges.Append(piece);
    return {};
  });
  Require(seen <= kMostDecoded && edges.size() == seen, "no more is decoded than may be");
  const auto whole = CheckZstdFrames(source, 0, source.size());
  if (!decoded) return;
  Require(*decoded == seen, "the decoder says how much came out");
  Require(whole.has_value(), "what decodes is made of whole frames", whole ? "" : whole.error().ToString());
}

}  // namespace dcpctl::fuzz
