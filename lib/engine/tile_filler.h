// Puts one tile of a region together from the pieces that meet it, and sums what it reads: each source's
// bytes as they lie in the file, and the tile as it will be written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dcpctl/plan.h"
#include "engine/range_digest.h"
#include "engine/scratch.h"
#include "engine/source_reader.h"
#include "model/copy_loop.h"
#include "plugin/tensor_math.h"

namespace dcpctl::engine {

// Thread-safe. Plan, reader and `math`, which is needed for what is cast, must outlive it.
class TileFiller {
 public:
  TileFiller(const Plan& plan, SourceReader& reader, const plugin::TensorMathV1* math = nullptr);

  // Fills `out` with bytes [begin, begin + out.size()) of the region, a box of it as schedules make them.
  // `scratch` is working memory; when it is shared, whole rows are read and kept in it; when it has a device, the tile
  // is put together there. What is cast is staged in it.
  Result<void> Fill(uint32_t region, uint64_t begin, std::span<std::byte> out, Scratch& scratch);

  // The region is filled. Those of its sources that no other region still needs are compared with the checksums
  // that their writer recorded, reading what has not been read yet. kCorrupt with the place of the storage.
  Result<void> VerifySources(uint32_t region, Scratch& scratch);
  // The region is there by other means. Sources that were read for other regions are compared as above.
  Result<void> SkipRegion(uint32_t region, Scratch& scratch);

  [[nodiscard]] RangeDigest& digest(uint32_t region) { return region_digests_[region]; }

 private:
  struct Tile {
    const Region& region;
    uint64_t item_bytes;  // in the sources, and in `out`
    Dims offsets;
    Dims sizes;
    Dims strides;
    std::span<std::byte> out;
    Scratch& scratch;
  };

  Result<void> Gather(uint32_t region, uint64_t first, uint64_t count, std::span<std::byte> out, Scratch& scratch);
  Result<void> FillFrom(const Tile& tile, const Piece& piece);
  Result<void> ReadLoop(const Tile& tile, uint32_t source, const CopyLoop& loop, size_t level);
  Result<std::span<const std::byte>> ReadRows(const Tile& tile, uint32_t source, uint64_t begin, uint64_t end);
  Result<void> ReadSpan(const Tile& tile, uint32_t source, const CopyLoop& loop);
  static Result<void> Spread(const Tile& tile, const CopyLoop& loop, std::span<const std::byte> bytes);
  Result<void> Bring(const Tile& tile, uint32_t source, uint64_t begin, std::span<std::byte> bytes, bool once);
  Result<void> ReadInBlocks(const Tile& tile, uint32_t source, const CopyLoop& loop, size_t level);
  Result<void> Release(uint32_t region, bool skipped, Scratch& scratch);
  Result<void> VerifySource(const Piece& piece, Scratch& scratch);
  Error Describe(Error error, const Region& region, const Piece& piece) const;

  const Plan& plan_;
  SourceReader& reader_;
  const plugin::TensorMathV1* math_;
  std::vector<RangeDigest> region_digests_;
  std::vector<RangeDigest> source_digests_;
  std::vector<std::atomic<uint64_t>> pieces_left_;  // of each source, in regions that are not done
  std::vector<std::atomic<bool>> was_read_;         // of each source: something of it
  // The largest extent of a piece in the first dimension: pieces are sorted by position, so this bounds the
  // search for those that meet a tile.
  std::vector<uint64_t> largest_extent_;
};

}  // namespace dcpctl::engine
