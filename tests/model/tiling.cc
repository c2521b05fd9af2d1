#include "tests/model/tiling.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dcpctl::test {

uint64_t Pick(Random& random, uint64_t low, uint64_t high) { return low + random() % (high - low + 1); }

Dims RandomShape(Random& random, uint64_t max_rank, uint64_t max_size) {
  Dims shape(Pick(random, 0, max_rank));
  for (uint64_t& size : shape) size = Pick(random, 1, max_size);
  return shape;
}

std::vector<Box> RandomTiling(Random& random, DimsView shape, uint64_t cuts) {
  std::vector<Box> boxes = {{.offsets = Dims(shape.size(), 0), .sizes = Dims(shape.begin(), shape.end())}};
  for (uint64_t i = 0; i < cuts && !shape.empty(); ++i) {
    Box& box = boxes[Pick(random, 0, boxes.size() - 1)];
    const size_t axis = Pick(random, 0, shape.size() - 1);
    if (box.sizes[axis] < 2) continue;
    const uint64_t first = Pick(random, 1, box.sizes[axis] - 1);
    Box rest = box;
    rest.offsets[axis] += first;
    rest.sizes[axis] -= first;
    box.sizes[axis] = first;
    boxes.push_back(std::move(rest));
  }
  for (size_t i = boxes.size(); i > 1; --i) std::swap(boxes[i - 1], boxes[Pick(random, 0, i - 1)]);
  return boxes;
}

std::vector<Box> GridTiling(DimsView shape, DimsView parts) {
  std::vector<Box> boxes;
  ForEachPosition(parts, [&](DimsView cell) {
    Box box;
    for (size_t d = 0; d < shape.size(); ++d) {
      const uint64_t begin = shape[d] * cell[d] / parts[d];
      box.offsets.push_back(begin);
      box.sizes.push_back(shape[d] * (cell[d] + 1) / parts[d] - begin);
    }
    boxes.push_back(std::move(box));
  });
  return boxes;
}

void ForEachPosition(DimsView sizes, const std::function<void(DimsView)>& visit) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  Dims position(sizes.size(), 0);
  for (;;) {
    visit(position);
    size_t d = sizes.size();
    while (d > 0 && ++position[d - 1] == sizes[d - 1]) position[--d] = 0;
    if (d == 0) return;
  }
}

uint64_t Dot(DimsView position, DimsView strides) {
  return std::inner_product(position.begin(), position.end(), strides.begin(), uint64_t{0});
}

}  // namespace dcpctl::test
