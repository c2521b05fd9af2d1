// Memory for many small arrays that are given back together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dcpctl {

// Items stay where they are as long as the pool lives, also when it is moved. Not thread-safe while items are added.
template <typename Item>
class Pool {
 public:
  // Room for so many items in a row, not filled.
  Item* Add(size_t count) {
    constexpr size_t kSmallestChunk = 256 / sizeof(Item);
    constexpr size_t kLargestChunk = (size_t{64} << 10) / sizeof(Item);
    if (count > left_) {
      const size_t usual = std::min(kLargestChunk, kSmallestChunk << std::min<size_t>(chunks_.size(), 8));
      left_ = std::max(usual, count);
      chunks_.push_back(std::make_unique_for_overwrite<Item[]>(left_));
      at_ = chunks_.back().get();
      memory_bytes_ += left_ * sizeof(Item);
    }
    left_ -= count;
    return std::exchange(at_, at_ + count);
  }

  [[nodiscard]] size_t memory_bytes() const { return memory_bytes_; }

 private:
  std::vector<std::unique_ptr<Item[]>> chunks_;
  Item* at_ = nullptr;
  size_t left_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace dcpctl
