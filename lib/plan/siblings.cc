#include "plan/siblings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/region.h"

namespace dcpctl {
namespace {

// Less is not worth more than one task.
constexpr uint64_t kLeastBytes = uint64_t{256} << 10;

// The first dimension along which a piece leaves out some of its source; the rank when it is contiguous, 0 when the
// source is not row-major.
size_t FirstGap(DimsView sizes, DimsView strides) {
  size_t gap = sizes.size();
  for (size_t d = sizes.size(); d-- > 1;) {
    if (strides[d] > strides[d - 1]) return 0;
    if (strides[d - 1] > sizes[d] * strides[d]) gap = d;
  }
  return gap;
}

// The dimension along which the region's pieces are cut; 0 when they are not, or not all in one order.
size_t CutOf(const Plan& plan, const Region& region) {
  size_t cut = region.rank;
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    cut = std::min(cut, FirstGap(plan.SizeOf(region, piece), plan.StridesOf(region, plan.sources[piece.source])));
  }
  return cut == region.rank ? 0 : cut;
}

uint64_t SourceRowBytes(const Plan& plan, const Region& region, size_t cut) {
  const uint64_t item = SourceItemBytes(region);
  uint64_t most = 0;
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const PlanSource& source = plan.sources[plan.pieces[region.first_piece + i].source];
    most = std::max(most, plan.StridesOf(region, source)[cut - 1] * item);
  }
  return most;
}

// Calls fn(number) with what says which rows of which sources a tile of certain rows of the region needs.
template <typename Fn>
void ForRows(const Plan& plan, const Region& region, size_t cut, const Fn& fn) {
  const auto add = [&](DimsView dims) { std::ranges::for_each(dims.first(cut), fn); };
  fn(region.output / kSiblingOutputs);
  fn(region.item_bytes);
  fn(cut);
  add(plan.ShapeOf(region));
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    fn(piece.source);
    add(plan.PositionOf(region, piece));
    add(plan.SourcePositionOf(region, piece));
    add(plan.SizeOf(region, piece));
  }
}

uint64_t HashOfRows(const Plan& plan, const Region& region, size_t cut) {
  constexpr uint64_t kPrime = 0x100000001b3;  // of FNV-1a, here over whole numbers
  uint64_t hash = 0xcbf29ce484222325;
  ForRows(plan, region, cut, [&](uint64_t number) {
    hash = (hash ^ number) * kPrime;
    hash ^= hash >> 29;
  });
  return hash;
}

std::vector<uint64_t> RowsOf(const Plan& plan, const Region& region, size_t cut) {
  std::vector<uint64_t> rows;
  ForRows(plan, region, cut, [&](uint64_t number) { rows.push_back(number); });
  return rows;
}

}  // namespace

uint64_t RowBytes(const Plan& plan, const Region& region, size_t cut) {
  uint64_t bytes = region.item_bytes;
  for (const uint64_t size : plan.ShapeOf(region).subspan(cut)) bytes *= size;
  return bytes;
}

std::vector<Siblings> FindSiblings(const Plan& plan) {
  // The rows themselves of all regions together may be many times the plan.
  std::map<uint64_t, Siblings> groups;
  for (uint32_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    if (region.bytes == 0 || region.rank < 2) continue;
    const size_t cut = CutOf(plan, region);
    if (cut == 0) continue;
    Siblings& group = groups[HashOfRows(plan, region, cut)];
    if (!group.regions.empty()) {
      const Region& last = plan.regions[group.regions.back()];
      // An output is written in its order. Two hashes that are equal by chance cost no more than time.
      if (last.output == region.output || RowsOf(plan, last, group.cut) != RowsOf(plan, region, cut)) continue;
    }
    group.cut = cut;
    group.regions.push_back(r);
  }
  std::vector<Siblings> found;
  for (auto& [hash, group] : groups) {
    uint64_t bytes = 0;
    for (const uint32_t r : group.regions) {
      bytes += plan.regions[r].bytes;
      group.row_bytes +=
          RowBytes(plan, plan.regions[r], group.cut) / plan.regions[r].item_bytes * LargerItemBytes(plan.regions[r]);
    }
    if (group.regions.size() < 2 || bytes < kLeastBytes) continue;
    const Region& first = plan.regions[group.regions[0]];
    group.row_bytes = std::max(group.row_bytes, SourceRowBytes(plan, first, group.cut));
    found.push_back(std::move(group));
  }
  return found;
}

}  // namespace dcpctl
