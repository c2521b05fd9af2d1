#include "mesh/split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/result.h"

namespace dcpctl::mesh {
namespace {

// torch.chunk's size of a chunk; without the sum that may not fit.
uint64_t ChunkSize(uint64_t size, uint64_t parts) { return size / parts + (size % parts != 0 ? 1 : 0); }

uint64_t ChunkCount(uint64_t size, uint64_t parts) {
  return size == 0 ? 0 : ChunkSize(size, ChunkSize(size, parts));  // trailing ones may be empty
}

uint64_t TotalSize(const Runs& runs) {
  uint64_t total = 0;
  for (const Run& run : runs) total += run.size;
  return total;
}

void Append(Runs& runs, const Run& run) {
  if (!runs.empty() && runs.back().begin + runs.back().size == run.begin) {
    runs.back().size += run.size;
  } else {
    runs.push_back(run);
  }
}

// Walks runs from front to back, by positions in their concatenation.
class RunCursor {
 public:
  explicit RunCursor(const Runs& runs) : runs_(runs) {}

  // Moves the next `count` positions to the end of `to`, or past them.
  void Take(uint64_t count, Runs& to) {
    Walk(count, [&to](const Run& run) { Append(to, run); });
  }
  void Skip(uint64_t count) {
    Walk(count, [](const Run&) {});
  }

 private:
  template <typename Visit>
  void Walk(uint64_t count, Visit visit) {
    while (count > 0) {
      const Run& run = runs_[index_];
      const uint64_t taken = std::min(count, run.size - pos_);
      visit(Run{.begin = run.begin + pos_, .size = taken});
      count -= taken;
      pos_ += taken;
      if (pos_ == run.size) {
        ++index_;
        pos_ = 0;
      }
    }
  }

  const Runs& runs_;
  size_t index_ = 0;
  uint64_t pos_ = 0;
};

// The runs of each coordinate, up to the last that has any.
Result<std::vector<Runs>> SplitAll(const Runs& runs, const Cut& cut, Budget& budget) {
  const uint64_t total = TotalSize(runs);
  const uint64_t first = ChunkSize(total, cut.split_factor);
  const uint64_t pieces = ChunkCount(total, cut.split_factor);
  // The last piece may be smaller and still reach more coordinates: 4 over 3 is 2 + 2, 3 over 3 is 1 + 1 + 1.
  const uint64_t last = pieces == 0 ? 0 : total - (pieces - 1) * first;
  const uint64_t coordinates = std::max(ChunkCount(first, cut.parts), ChunkCount(last, cut.parts));
  DCPCTL_TRY(budget.Spend(coordinates));
  DCPCTL_TRY(budget.Spend(runs.size()));
  std::vector<Runs> of(coordinates);
  RunCursor cursor(runs);
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    const uint64_t size = std::min(first, total - piece * first);
    const uint64_t second = ChunkSize(size, cut.parts);
    const uint64_t count = ChunkCount(size, cut.parts);
    if (pieces > 1) DCPCTL_TRY(budget.Spend(count));
    for (uint64_t c = 0; c < count; ++c) cursor.Take(std::min(second, size - c * second), of[c]);
  }
  return of;
}

// The same for one coordinate.
Result<Runs> SplitOne(const Runs& runs, const Cut& cut, uint64_t coordinate, Budget& budget) {
  const uint64_t total = TotalSize(runs);
  const uint64_t first = ChunkSize(total, cut.split_factor);
  const uint64_t pieces = ChunkCount(total, cut.split_factor);
  DCPCTL_TRY(budget.Spend(pieces));
  Runs of;
  RunCursor cursor(runs);
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    const uint64_t size = std::min(first, total - piece * first);
    const uint64_t second = ChunkSize(size, cut.parts);
    const uint64_t begin = coordinate < ChunkCount(size, cut.parts) ? coordinate * second : size;
    const uint64_t taken = std::min(second, size - begin);
    cursor.Skip(begin);
    cursor.Take(taken, of);
    cursor.Skip(size - begin - taken);
  }
  return of;
}

Runs AllOf(uint64_t size) { return size == 0 ? Runs{} : Runs{{.begin = 0, .size = size}}; }

}  // namespace

Result<void> Budget::Spend(uint64_t boxes) {
  if (boxes > left_)
    return Fail(ErrorKind::kLimit,
                "the layout cuts tensors into too many boxes, expected " + std::to_string(most_) + " at most");
  left_ -= boxes;
  return {};
}

Result<Runs> RunsOf(uint64_t size, std::span<const Cut> cuts, std::span<const uint64_t> coordinates, Budget budget) {
  Runs runs = AllOf(size);
  for (size_t i = 0; i < cuts.size(); ++i) {
    DCPCTL_ASSIGN(runs, SplitOne(runs, cuts[i], coordinates[i], budget));
  }
  return runs;
}

Result<std::vector<Part>> PartsOf(uint64_t size, std::span<const Cut> cuts, Budget& budget) {
  std::vector<Part> parts;
  if (size > 0) parts.push_back({.rank = 0, .runs = AllOf(size)});
  for (const Cut& cut : cuts) {
    std::vector<Part> finer;
    for (const Part& part : parts) {
      DCPCTL_ASSIGN(std::vector<Runs> split, SplitAll(part.runs, cut, budget));
      for (uint64_t c = 0; c < split.size(); ++c)
        finer.push_back({.rank = part.rank + c * cut.rank_step, .runs = std::move(split[c])});
    }
    parts = std::move(finer);
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.runs[0].begin < b.runs[0].begin; });
  return parts;
}

}  // namespace dcpctl::mesh
