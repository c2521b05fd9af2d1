#include "mesh/rank_layout.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"

namespace dcpctl {
namespace mesh {
namespace {

std::optional<uint64_t> BytesOf(const LayoutEntry& entry) {
  if (!entry.is_tensor) return entry.bytes;
  const std::optional<uint64_t> numel = CheckedProduct(entry.shape);
  return numel ? CheckedMul(*numel, entry.bytes) : std::nullopt;
}

}  // namespace

Result<void> CheckTotalBytes(std::span<const LayoutEntry> entries) {
  std::optional<uint64_t> total = 0;
  for (const LayoutEntry& entry : entries) {
    const std::optional<uint64_t> bytes = BytesOf(entry);
    total = bytes ? CheckedAdd(*total, *bytes) : std::nullopt;
    if (!total)
      return Fail(ErrorKind::kLimit,
                  "more than 2^64 bytes in all entries up to " + Quote(entry.key) + ", expected fewer");
  }
  return {};
}

uint64_t AddPiece(RankLayout& layout, const LayoutEntry& entry, uint64_t rank, BoxView box) {
  layout.pieces.push_back({.entry = entry.entry,
                           .rank = static_cast<uint32_t>(rank),
                           .dims = layout.dims.size(),
                           .dim_count = static_cast<uint32_t>(box.sizes.size())});
  for (const uint64_t offset : box.offsets) layout.dims.push_back(offset);
  for (const uint64_t size : box.sizes) layout.dims.push_back(size);
  uint64_t bytes = entry.bytes;
  for (const uint64_t size : box.sizes) bytes *= size;
  layout.ranks[rank].bytes += bytes;
  ++layout.ranks[rank].pieces;
  return bytes;
}

uint64_t AddWhole(RankLayout& layout, const LayoutEntry& entry, uint64_t rank) {
  if (!entry.is_tensor) return AddPiece(layout, entry, rank, {});
  return AddPiece(layout, entry, rank, {.offsets = Dims(entry.shape.size(), 0), .sizes = entry.shape});
}

}  // namespace mesh

double Imbalance(std::span<const RankTotals> ranks) {
  uint64_t most = 0;
  double total = 0;
  for (const RankTotals& rank : ranks) {
    most = std::max(most, rank.bytes);
    total += static_cast<double>(rank.bytes);
  }
  return most == 0 ? 1 : static_cast<double>(most) * static_cast<double>(ranks.size()) / total;
}

}  // namespace dcpctl
