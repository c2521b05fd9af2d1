#include "engine/range_digest.h"

#include <algorithm>

#include "base/crc32.h"

namespace dcpctl::engine {

void RangeDigest::Add(uint64_t begin, uint64_t length, uint32_t crc) {
  if (length == 0) return;
  const std::lock_guard lock(mutex_);
  auto next = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                               [](const Range& range, uint64_t b) { return range.begin < b; });
  Range added{.begin = begin, .end = begin + length, .crc = crc};
  if (next != ranges_.end() && next->begin == added.end) {
    added.crc = Crc32Combine(added.crc, next->crc, next->end - next->begin);
    added.end = next->end;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin() && std::prev(next)->end == added.begin) {
    Range& before = *std::prev(next);
    before.crc = Crc32Combine(before.crc, added.crc, added.end - added.begin);
    before.end = added.end;
    return;
  }
  ranges_.insert(next, added);
}

std::optional<uint32_t> RangeDigest::Whole(uint64_t length) const {
  if (length == 0) return 0;
  const std::lock_guard lock(mutex_);
  if (ranges_.size() != 1 || ranges_[0].begin != 0 || ranges_[0].end != length) return std::nullopt;
  return ranges_[0].crc;
}

}  // namespace dcpctl::engine
