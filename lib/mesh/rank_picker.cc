#include "mesh/rank_picker.h"

#include <algorithm>
#include <functional>

namespace dcpctl::mesh {

RankPicker::Queue RankPicker::MakeQueue(uint64_t first_rank, const std::vector<size_t>& free) const {
  Queue queue = {{0, first_rank}};
  for (const size_t dim : free) {
    const size_t known = queue.size();
    for (uint64_t c = 1; c < mesh_.dims()[dim].size; ++c) {
      for (size_t i = 0; i < known; ++i) queue.emplace_back(0, queue[i].second + c * mesh_.RankStep(dim));
    }
  }
  for (auto& [bytes, rank] : queue) bytes = bytes_[rank];
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  return queue;
}

uint64_t RankPicker::Pick(uint64_t first_rank, const std::vector<size_t>& free) {
  if (free.empty()) return first_rank;
  auto& of_free = queues_[free];
  auto found = of_free.find(first_rank);
  if (found == of_free.end()) found = of_free.emplace(first_rank, MakeQueue(first_rank, free)).first;
  Queue& queue = found->second;
  while (queue.front().first != bytes_[queue.front().second]) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    queue.back().first = bytes_[queue.back().second];
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
  }
  return queue.front().second;
}

}  // namespace dcpctl::mesh
