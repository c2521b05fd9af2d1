#include "engine/cloner.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "model/copy_loop.h"

namespace dcpctl::engine {
namespace {

// What XFS and Btrfs clone by default. A larger block size makes the clone fail, and the bytes are copied.
constexpr uint64_t kBlock = 4096;
// Smaller pieces are as cheap to copy.
constexpr uint64_t kLeastBytes = 16 * kBlock;

struct Extent {
  uint32_t source;
  uint64_t from;  // in the source file
  uint64_t pos;   // in the region
  uint64_t bytes;
};

bool HasWholeBlock(uint64_t offset, uint64_t bytes) {
  return AlignUp(offset, kBlock) < (offset + bytes) / kBlock * kBlock;
}

// The pieces of a region as runs of bytes, or the reason why they are none.
class Extents {
 public:
  Extents(const Plan& plan, const Region& region) : plan_(plan), region_(region) {}

  std::string Collect(std::vector<Extent>& extents) const {
    for (uint64_t i = 0; i < region_.piece_count; ++i) {
      const Piece& piece = plan_.pieces[region_.first_piece + i];
      const StoredTensor& stored = plan_.sources[piece.source].stored;
      if (region_.cast) return "it is cast to another type";
      if (stored.codec != Codec::kNone) return "it is compressed";
      if (stored.big_endian && region_.swap_unit > 1) return "its byte order is another";
      if (!stored.crc_known) return "its source has no checksum to carry over";
      const CopyLoop loop = LoopOf(piece);
      if (!loop.IsOneRun() || loop.from != 0 || loop.Elements() * region_.item_bytes != stored.bytes)
        return "its chunks are no whole runs of the output";
      extents.push_back(
          {.source = piece.source, .from = stored.offset, .pos = loop.to * region_.item_bytes, .bytes = stored.bytes});
      if (!HasWholeBlock(region_.offset + extents.back().pos, stored.bytes))
        return "the chunk at " + Hex(stored.offset) + " of its file fills no block of the output";
      if ((stored.offset - region_.offset - extents.back().pos) % kBlock != 0)
        return "the chunk at " + Hex(stored.offset) +
               " of its file lies at another place within a block than in the output";
    }
    return {};
  }

 private:
  CopyLoop LoopOf(const Piece& piece) const {
    const PlanSource& source = plan_.sources[piece.source];
    const DimsView strides = plan_.StridesOf(region_, source);
    const Dims to_strides = RowMajorStrides(plan_.ShapeOf(region_));
    uint64_t from = source.stored.first_element;
    uint64_t to = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      from += plan_.SourcePositionOf(region_, piece)[d] * strides[d];
      to += plan_.PositionOf(region_, piece)[d] * to_strides[d];
    }
    return MakeCopyLoop(plan_.SizeOf(region_, piece), from, strides, to, to_strides);
  }

  const Plan& plan_;
  const Region& region_;
};

// Whole blocks are shared; what is left at the two ends is copied.
Result<bool> CloneExtent(const Extent& extent, uint64_t to, const io::ReadFile& in, SourceReader& reader,
                         io::WriteFile& out) {
  const uint64_t first = AlignUp(to, kBlock);
  const uint64_t last = (to + extent.bytes) / kBlock * kBlock;
  DCPCTL_ASSIGN(const bool shared, out.CloneRange(in, extent.from + (first - to), first, last - first));
  if (!shared) return false;
  std::array<std::byte, kBlock> edge{};
  for (const auto& [begin, end] : {std::pair(to, first), std::pair(last, to + extent.bytes)}) {
    const auto part = std::span(edge).first(end - begin);
    DCPCTL_TRY(reader.Read(extent.source, begin - to, part));
    DCPCTL_TRY(out.WriteAt(begin, part));
  }
  return true;
}

}  // namespace

Result<bool> CloneRegion(const Plan& plan, const Region& region, Reflink mode, io::FileCache& cache,
                         SourceReader& reader, io::WriteFile& out, RangeDigest& digest) {
  if (mode == Reflink::kNever || region.bytes < kLeastBytes) return false;
  std::vector<Extent> extents;
  std::string why_not = Extents(plan, region).Collect(extents);
  bool all = why_not.empty();
  for (size_t i = 0; all && i < extents.size(); ++i) {
    DCPCTL_ASSIGN(const auto file, cache.Open(plan.sources[extents[i].source].file));
    DCPCTL_ASSIGN(all, CloneExtent(extents[i], region.offset + extents[i].pos, *file, reader, out));
    if (!all) why_not = "the file system does not share these blocks";
  }
  if (!all && mode == Reflink::kAlways) {
    return Fail(Place{.file = out.target().string()}, ErrorKind::kUnsupported,
                "cannot clone " + Quote(plan.KeyOf(region)) + ": " + why_not);
  }
  if (!all) return false;
  for (const Extent& extent : extents) digest.Add(extent.pos, extent.bytes, plan.sources[extent.source].stored.crc);
  return true;
}

}  // namespace dcpctl::engine
