#include "model/coverage.h"

#include <algorithm>
#include <limits>

namespace dcpctl {
namespace {

// Below this many boxes all pairs are cheaper than another cut.
constexpr size_t kFewBoxes = 12;

using Ids = std::vector<uint64_t>;
using BoxOf = std::function<BoxView(uint64_t)>;

struct Cut {
  size_t axis = 0;
  uint64_t at = 0;
  size_t larger_side = std::numeric_limits<size_t>::max();
  size_t both_sides = 0;  // boxes on the left plus boxes on the right
};

// Starts of boxes are where tilings can be cut. The middle one of each axis is tried; the axis that leaves
// the smaller problem wins. A box that straddles the cut goes to both sides.
Cut ChooseCut(const Ids& ids, const BoxOf& box, size_t rank) {
  Cut best;
  std::vector<uint64_t> starts(ids.size());
  for (size_t axis = 0; axis < rank; ++axis) {
    std::transform(ids.begin(), ids.end(), starts.begin(), [&](uint64_t id) { return box(id).offsets[axis]; });
    const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
    std::nth_element(starts.begin(), middle, starts.end());
    const uint64_t at = *middle;
    size_t left = 0;
    size_t right = 0;
    for (const uint64_t id : ids) {
      left += box(id).offsets[axis] < at ? 1 : 0;
      right += box(id).offsets[axis] + box(id).sizes[axis] > at ? 1 : 0;
    }
    const size_t larger = std::max(left, right);
    if (larger < best.larger_side) best = {.axis = axis, .at = at, .larger_side = larger, .both_sides = left + right};
  }
  return best;
}

// Sharding makes boxes that cuts part well. Where they do not, the input is made to be slow: then all pairs
// are compared, as far as the budget goes.
bool IsGoodCut(const Cut& cut, size_t count) {
  return cut.larger_side <= count - count / 4 && cut.both_sides <= count + count / 4;
}

// Intersect without making the box: a search compares millions of pairs.
bool Overlap(BoxView a, BoxView b) {
  for (size_t d = 0; d < a.offsets.size(); ++d) {
    if (a.offsets[d] >= b.offsets[d] + b.sizes[d] || b.offsets[d] >= a.offsets[d] + a.sizes[d]) return false;
  }
  return true;
}

class OverlapSearch {
 public:
  OverlapSearch(const BoxOf& box, size_t rank, size_t count)
      : box_(box), rank_(rank), budget_(kWorkPerBox * (count + kFewBoxes)) {}

  // Explicit stack: hostile boxes must not choose the depth of a recursion.
  void Run(Ids all, Coverage& coverage) {
    std::vector<Ids> todo;
    todo.push_back(std::move(all));
    while (!todo.empty() && !coverage.overlap && !coverage.undecided) {
      const Ids ids = std::move(todo.back());
      todo.pop_back();
      const Cut cut = ids.size() > kFewBoxes ? ChooseCut(ids, box_, rank_) : Cut{};
      if (ids.size() <= kFewBoxes || !IsGoodCut(cut, ids.size())) {
        ComparePairs(ids, coverage);
      } else {
        Split(ids, cut, todo);
        coverage.undecided = !Spend(ids.size());
      }
    }
  }

 private:
  // Boxes looked at in cuts, and pairs compared, for each box there is. A million chunks of real layouts need
  // about 30.
  static constexpr uint64_t kWorkPerBox = 1024;

  bool Spend(uint64_t work) {
    if (work > budget_) return false;
    budget_ -= work;
    return true;
  }

  void ComparePairs(const Ids& ids, Coverage& coverage) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!Spend(ids.size() - i)) {
        coverage.undecided = true;
        return;
      }
      for (size_t j = i + 1; j < ids.size(); ++j) {
        if (!Overlap(box_(ids[i]), box_(ids[j]))) continue;
        coverage.overlap = std::minmax(ids[i], ids[j]);
        return;
      }
    }
  }

  void Split(const Ids& ids, const Cut& cut, std::vector<Ids>& todo) const {
    Ids left;
    Ids right;
    for (const uint64_t id : ids) {
      const BoxView b = box_(id);
      if (b.offsets[cut.axis] < cut.at) left.push_back(id);
      if (b.offsets[cut.axis] + b.sizes[cut.axis] > cut.at) right.push_back(id);
    }
    todo.push_back(std::move(left));
    todo.push_back(std::move(right));
  }

  const BoxOf& box_;
  const size_t rank_;
  uint64_t budget_;
};

uint64_t CoveredElements(const Ids& ids, const BoxOf& box, BoxView area) {
  uint64_t covered = 0;
  for (const uint64_t id : ids) {
    if (const auto common = Intersect(box(id), area)) covered += *Numel(common->sizes);
  }
  return covered;
}

// A border of a box that cuts `area` in two: the middle one of the first axis that has any.
std::optional<Cut> FindBorder(const Ids& ids, const BoxOf& box, BoxView area) {
  for (size_t axis = 0; axis < area.offsets.size(); ++axis) {
    std::vector<uint64_t> borders;
    for (const uint64_t id : ids) {
      for (const uint64_t border : {box(id).offsets[axis], box(id).offsets[axis] + box(id).sizes[axis]}) {
        if (border > area.offsets[axis] && border < area.offsets[axis] + area.sizes[axis]) borders.push_back(border);
      }
    }
    if (borders.empty()) continue;
    std::nth_element(borders.begin(), borders.begin() + static_cast<std::ptrdiff_t>(borders.size() / 2), borders.end());
    return Cut{.axis = axis, .at = borders[borders.size() / 2]};
  }
  return std::nullopt;
}

// Halves the area at borders of boxes, always going on where something is missing. Boxes do not overlap.
Box FindHole(Ids ids, const BoxOf& box, DimsView shape) {
  Box area{.offsets = Dims(shape.size(), 0), .sizes = Dims(shape.begin(), shape.end())};
  while (const auto cut = FindBorder(ids, box, area.view())) {
    Box first = area;
    Box second = area;
    first.sizes[cut->axis] = cut->at - area.offsets[cut->axis];
    second.offsets[cut->axis] = cut->at;
    second.sizes[cut->axis] = area.sizes[cut->axis] - first.sizes[cut->axis];
    area = CoveredElements(ids, box, first.view()) < *Numel(first.sizes) ? std::move(first) : std::move(second);
    std::erase_if(ids, [&](uint64_t id) { return !Intersect(box(id), area.view()); });
  }
  return area;
}

// Most tensors are cut along one dimension and listed rank by rank: whole slabs, each where the one before
// it ends. That is seen in one pass.
bool AreSlabsInOrder(uint64_t count, const BoxOf& box, DimsView shape) {
  if (count == 0 || shape.empty() || box(0).sizes.size() != shape.size()) return false;
  const DimsView first = box(0).sizes;
  size_t axis = 0;
  while (axis + 1 < shape.size() && first[axis] == shape[axis]) ++axis;
  uint64_t end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const BoxView b = box(i);
    if (!IsInside(b, shape) || b.offsets[axis] != end) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != axis && b.sizes[d] != shape[d]) return false;
    }
    end += b.sizes[axis];
  }
  return end == shape[axis];
}

}  // namespace

Coverage CheckCoverage(DimsView shape, uint64_t count, const BoxOf& box) {
  Coverage coverage;
  const auto total = Numel(shape);
  if (total && AreSlabsInOrder(count, box, shape)) return coverage;
  Ids ids;
  uint64_t covered = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const BoxView b = box(i);
    if (!IsInside(b, shape)) {
      coverage.outside = i;
      return coverage;
    }
    if (IsEmpty(b)) continue;
    ids.push_back(i);
    covered += Numel(b.sizes).value_or(0);  // wraps only when boxes overlap, which is found below
  }
  coverage.undecided = !total;
  OverlapSearch(box, shape.size(), ids.size()).Run(ids, coverage);
  if (!coverage.ok() || covered == *total) return coverage;
  coverage.missing = *total - covered;
  coverage.hole = FindHole(std::move(ids), box, shape);
  return coverage;
}

}  // namespace dcpctl
