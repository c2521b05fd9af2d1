// The reader's memo: what PUT and MEMOIZE store and GET fetches. Indices are claims of the input and may be
// far apart; only those near what is there already are kept in an array, the rest in a map.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "pickle/arena.h"
#include "pickle/word_buffer.h"

namespace dcpctl::pickle {

class Memo {
 public:
  // False when too many indices are scattered.
  [[nodiscard]] bool Put(uint64_t index, Ref ref) {
    if (index == dense_.size() && scattered_.empty()) [[likely]] {
      dense_.PushBack(ref);
      ++count_;
      return true;
    }
    return PutElsewhere(index, ref);
  }
  [[nodiscard]] std::optional<Ref> Get(uint64_t index) const {
    if (index < dense_.size() && dense_[index] != kAbsent) [[likely]]
      return dense_[index];
    if (const auto found = scattered_.find(index); found != scattered_.end()) return found->second;
    return std::nullopt;
  }
  // Number of entries: where MEMOIZE puts the next one.
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] size_t memory_bytes() const {
    return dense_.size() * sizeof(Ref) + scattered_.size() * kScatteredBytes;
  }

 private:
  static constexpr Ref kAbsent = 0x7fffffff;  // beyond kMaxWords
  // Python 2's cPickle starts at 1; gaps of a few entries are cheaper as words than in the map.
  static constexpr uint64_t kLargestGap = 64;
  // Real pickles have none. A balanced map, so that no choice of indices makes it slow.
  static constexpr size_t kMaxScattered = size_t{1} << 20;
  static constexpr size_t kScatteredBytes = 48;

  bool PutElsewhere(uint64_t index, Ref ref) {
    if (index < dense_.size() && dense_[index] != kAbsent) {
      dense_[index] = ref;
      return true;
    }
    if (const auto found = scattered_.find(index); found != scattered_.end()) {
      found->second = ref;
      return true;
    }
    if (index > dense_.size() + kLargestGap) {
      if (scattered_.size() >= kMaxScattered) return false;
      scattered_.emplace(index, ref);
    } else {
      while (dense_.size() <= index) dense_.PushBack(kAbsent);
      dense_[index] = ref;
    }
    ++count_;
    return true;
  }

  WordBuffer dense_;
  std::map<uint64_t, Ref> scattered_;
  uint64_t count_ = 0;
};

}  // namespace dcpctl::pickle
