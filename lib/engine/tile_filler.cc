#include "engine/tile_filler.h"

#include <algorithm>
#include <cstring>

#include "base/crc32.h"
#include "base/quote.h"
#include "base/result.h"
#include "engine/element_copy.h"
#include "plan/region.h"
#include "plugin/math.h"

namespace dcpctl::engine {
namespace {

// Reading over gaps is cheaper than another system call while no more than this many bytes are wasted for
// each wanted one, or the read is small anyway.
constexpr uint64_t kMaxWaste = 4;
constexpr uint64_t kSmallRead = uint64_t{64} << 10;

// The box of `count` elements from number `first` on, of a row-major tensor.
void UnravelBox(DimsView shape, uint64_t first, uint64_t count, Dims& offsets, Dims& sizes) {
  offsets.assign(shape.size(), 0);
  sizes.assign(shape.size(), 1);
  bool whole = true;
  for (size_t d = shape.size(); d-- > 0;) {
    offsets[d] = first % shape[d];
    first /= shape[d];
    if (!whole) continue;
    sizes[d] = std::min(count, shape[d]);
    whole = count > shape[d];
    count /= sizes[d];
  }
}

struct ByteRange {
  uint64_t begin;
  uint64_t end;
};

// The rows of the storage that a loop takes parts of, when the scratch is shared and has room for them.
std::optional<ByteRange> RowsAround(const Scratch& scratch, const PlanSource& source, const CopyLoop& loop,
                                    uint64_t item) {
  if (!scratch.shared() || loop.IsOneRun() || loop.levels[0].from_step == 0) return {};
  const uint64_t first = source.stored.first_element;
  const uint64_t row = loop.levels[0].from_step;
  const uint64_t begin = first + (loop.from - first) / row * row;
  const uint64_t end = std::min(begin + loop.levels[0].count * row, source.stored.bytes / item);
  if (end < loop.from + loop.SourceSpan() || (end - begin) > scratch.size() / item) return {};
  return ByteRange{.begin = begin * item, .end = end * item};
}

}  // namespace

TileFiller::TileFiller(const Plan& plan, SourceReader& reader, const plugin::TensorMathV1* math)
    : plan_(plan),
      reader_(reader),
      math_(math),
      region_digests_(plan.regions.size()),
      source_digests_(plan.sources.size()),
      pieces_left_(plan.sources.size()),
      was_read_(plan.sources.size()),
      largest_extent_(plan.regions.size(), 1) {
  for (const Piece& piece : plan.pieces) ++pieces_left_[piece.source];
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    for (uint64_t i = 0; region.rank > 0 && i < region.piece_count; ++i) {
      largest_extent_[r] = std::max(largest_extent_[r], plan.SizeOf(region, plan.pieces[region.first_piece + i])[0]);
    }
  }
}

Result<void> TileFiller::Fill(uint32_t index, uint64_t begin, std::span<std::byte> out, Scratch& scratch) {
  const Region& region = plan_.regions[index];
  const uint64_t first = begin / region.item_bytes;
  const uint64_t count = out.size() / region.item_bytes;
  if (!region.cast) {
    DCPCTL_TRY(Gather(index, first, count, out, scratch));
  } else {
    if (math_ == nullptr) return Fail(ErrorKind::kInternal, "a cast without the tensor plug-in");
    const auto staged = scratch.staging().first(count * SourceItemBytes(region));
    DCPCTL_TRY(Gather(index, first, count, staged, scratch));
    DCPCTL_TRY(plugin::CastElements(*math_, region.cast->from, region.cast->to, count, staged, out));
  }
  region_digests_[index].Add(begin, out.size(), Crc32(out));
  return {};
}

// The elements as they are stored, in the byte order of the machine.
Result<void> TileFiller::Gather(uint32_t index, uint64_t first, uint64_t count, std::span<std::byte> out,
                                Scratch& scratch) {
  const Region& region = plan_.regions[index];
  Tile tile{.region = region,
            .item_bytes = SourceItemBytes(region),
            .offsets = {},
            .sizes = {},
            .strides = {},
            .out = out,
            .scratch = scratch};
  UnravelBox(plan_.ShapeOf(region), first, count, tile.offsets, tile.sizes);
  tile.strides = RowMajorStrides(tile.sizes);
  const auto pieces = std::span(plan_.pieces).subspan(region.first_piece, region.piece_count);
  auto piece = pieces.begin();
  if (region.rank > 0) {
    const uint64_t lowest = tile.offsets[0] - std::min(tile.offsets[0], largest_extent_[index] - 1);
    piece = std::lower_bound(pieces.begin(), pieces.end(), lowest,
                             [&](const Piece& p, uint64_t at) { return plan_.PositionOf(region, p)[0] < at; });
  }
  for (; piece != pieces.end(); ++piece) {
    if (region.rank > 0 && plan_.PositionOf(region, *piece)[0] >= tile.offsets[0] + tile.sizes[0]) break;
    if (auto done = FillFrom(tile, *piece); !done) return Fail(Describe(std::move(done).error(), region, *piece));
  }
  if (DeviceTiles* const device = scratch.device()) DCPCTL_TRY(device->Collect(out));
  return {};
}

Result<void> TileFiller::FillFrom(const Tile& tile, const Piece& piece) {
  const DimsView at = plan_.PositionOf(tile.region, piece);
  const auto common = Intersect({tile.offsets, tile.sizes}, {at, plan_.SizeOf(tile.region, piece)});
  if (!common) return {};
  const PlanSource& source = plan_.sources[piece.source];
  const DimsView strides = plan_.StridesOf(tile.region, source);
  const DimsView source_at = plan_.SourcePositionOf(tile.region, piece);
  uint64_t from = source.stored.first_element;
  uint64_t to = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    from += (source_at[d] + common->offsets[d] - at[d]) * strides[d];
    to += (common->offsets[d] - tile.offsets[d]) * tile.strides[d];
  }
  const CopyLoop loop = MakeCopyLoop(common->sizes, from, strides, to, tile.strides);
  if (const auto rows = RowsAround(tile.scratch, source, loop, tile.item_bytes)) {
    DCPCTL_ASSIGN(const auto bytes, ReadRows(tile, piece.source, rows->begin, rows->end));
    return Spread(tile, loop, bytes.subspan(loop.from * tile.item_bytes - rows->begin));
  }
  return ReadLoop(tile, piece.source, loop, 0);
}

// Reads bytes [begin, end) of a source unless another tile did.
Result<std::span<const std::byte>> TileFiller::ReadRows(const Tile& tile, uint32_t source, uint64_t begin,
                                                        uint64_t end) {
  if (const auto kept = tile.scratch.Kept(source, begin, end - begin); !kept.empty()) return kept;
  const auto bytes = tile.scratch.Keep(source, begin, end - begin);
  if (auto done = Bring(tile, source, begin, bytes, true); !done) {
    tile.scratch.Forget();
    return Fail(std::move(done).error());
  }
  return bytes;
}

// Reads what lies close together in one go, and goes one level deeper where it does not.
Result<void> TileFiller::ReadLoop(const Tile& tile, uint32_t source, const CopyLoop& loop, size_t level) {
  const uint64_t item = tile.item_bytes;
  const CopyLoop rest = Inner(loop, level);
  const uint64_t span = rest.SourceSpan() * item;
  if (rest.IsOneRun() ||
      (span <= tile.scratch.size() && (span <= kSmallRead || span / kMaxWaste <= rest.Elements() * item))) {
    return ReadSpan(tile, source, rest);
  }
  if (level + 1 == loop.levels.size()) return ReadInBlocks(tile, source, loop, level);
  CopyLoop step = loop;
  for (uint64_t i = 0; i < loop.levels[level].count; ++i) {
    DCPCTL_TRY(ReadLoop(tile, source, step, level + 1));
    step.from += loop.levels[level].from_step;
    step.to += loop.levels[level].to_step;
  }
  return {};
}

// The fastest level alone is wider than the scratch, or mostly gaps.
Result<void> TileFiller::ReadInBlocks(const Tile& tile, uint32_t source, const CopyLoop& loop, size_t level) {
  const CopyLoop::Level& fastest = loop.levels[level];
  const uint64_t step_bytes = fastest.from_step * tile.item_bytes;
  const uint64_t most = step_bytes <= kSmallRead / kMaxWaste ? std::min<uint64_t>(kSmallRead, tile.scratch.size()) : 1;
  const uint64_t in_block = std::max<uint64_t>(1, most / std::max<uint64_t>(1, step_bytes));
  for (uint64_t i = 0; i < fastest.count; i += in_block) {
    CopyLoop block = Inner(loop, level);
    block.from += i * fastest.from_step;
    block.to += i * fastest.to_step;
    block.levels[0].count = std::min(in_block, fastest.count - i);
    DCPCTL_TRY(ReadSpan(tile, source, block));
  }
  return {};
}

Result<void> TileFiller::ReadSpan(const Tile& tile, uint32_t source, const CopyLoop& loop) {
  const uint64_t item = tile.item_bytes;
  const uint64_t span = loop.SourceSpan();
  const bool direct = loop.IsOneRun() && tile.scratch.device() == nullptr;
  const std::span<std::byte> bytes =
      direct ? tile.out.subspan(loop.to * item, span * item) : tile.scratch.Use(span * item);
  // Bytes between the wanted ones may be read again with another tile: those sources are summed at the end.
  DCPCTL_TRY(Bring(tile, source, loop.from * item, bytes, span == loop.Elements()));
  return direct ? Result<void>() : Spread(tile, loop, bytes);
}

// `loop.from` is at bytes[0].
Result<void> TileFiller::Spread(const Tile& tile, const CopyLoop& loop, std::span<const std::byte> bytes) {
  const uint64_t item = tile.item_bytes;
  if (DeviceTiles* const device = tile.scratch.device()) return device->Spread(loop, bytes, item);
  CopyElements(loop, 0, bytes.data(), tile.out.data() + loop.to * item, item);
  return {};
}

// Bytes from `begin` on of a source, in the order of the machine: to `bytes`, and with a device to their place there,
// which may be all that is filled. `once`: no other tile needs them.
Result<void> TileFiller::Bring(const Tile& tile, uint32_t source, uint64_t begin, std::span<std::byte> bytes,
                               bool once) {
  DeviceTiles* const device = tile.scratch.device();
  const bool foreign = plan_.sources[source].stored.big_endian && tile.region.swap_unit > 1;
  was_read_[source] = true;
  if (device != nullptr && !foreign) {
    DCPCTL_ASSIGN(const auto crc, reader_.Land(source, begin, device->PartFor(bytes)));
    if (crc && once) source_digests_[source].Add(begin, bytes.size(), *crc);
    if (crc) return {};
  }
  DCPCTL_TRY(reader_.Read(source, begin, bytes));
  if (once) source_digests_[source].Add(begin, bytes.size(), Crc32(bytes));
  if (foreign) SwapBytes(bytes, tile.region.swap_unit);
  return device == nullptr ? Result<void>() : device->Upload(bytes);
}

Result<void> TileFiller::VerifySources(uint32_t index, Scratch& scratch) { return Release(index, false, scratch); }

Result<void> TileFiller::SkipRegion(uint32_t index, Scratch& scratch) { return Release(index, true, scratch); }

Result<void> TileFiller::Release(uint32_t index, bool skipped, Scratch& scratch) {
  const Region& region = plan_.regions[index];
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan_.pieces[region.first_piece + i];
    if (--pieces_left_[piece.source] > 0 || (skipped && !was_read_[piece.source])) continue;
    if (auto done = VerifySource(piece, scratch); !done) return Fail(Describe(std::move(done).error(), region, piece));
  }
  return {};
}

Result<void> TileFiller::VerifySource(const Piece& piece, Scratch& scratch) {
  const StoredTensor& stored = plan_.sources[piece.source].stored;
  if (!stored.crc_known) return {};
  std::optional<uint32_t> found = source_digests_[piece.source].Whole(stored.bytes);
  if (!found) {
    found = 0;
    const std::span<std::byte> room = scratch.Use();
    for (uint64_t pos = 0; pos < stored.bytes; pos += room.size()) {
      const auto part = room.first(std::min<uint64_t>(room.size(), stored.bytes - pos));
      DCPCTL_TRY(reader_.Read(piece.source, pos, part));
      found = Crc32(part, *found);
    }
  }
  if (*found == stored.crc) return {};
  const PlanFile& file = plan_.files[plan_.sources[piece.source].file];
  return Fail(
      Place{PathOf(file), stored.codec == Codec::kZstd ? plan_.sources[piece.source].record_offset : stored.offset},
      ErrorKind::kCorrupt,
      "CRC-32 of the storage is " + Hex(*found, 8) + ", expected " + Hex(stored.crc, 8) + " as its writer recorded it");
}

Error TileFiller::Describe(Error error, const Region& region, const Piece& piece) const {
  if (error.kind() == ErrorKind::kCancelled) return error;
  const BoxView box{plan_.PositionOf(region, piece), plan_.SizeOf(region, piece)};
  return std::move(error).In("chunk " + ToString(box) + " of " + Quote(plan_.KeyOf(region)));
}

}  // namespace dcpctl::engine
