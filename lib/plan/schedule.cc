#include "plan/schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/parts.h"
#include "plan/region.h"
#include "plan/siblings.h"

namespace dcpctl {
namespace {

// Small enough to stay in a core's own cache between being read, summed and written: on the machines tried,
// larger buffers were slower and smaller ones no faster.
constexpr uint64_t kTileBytes = uint64_t{1} << 20;
// A terabyte in tiles of a MiB is a million tasks; beyond this many, tiles grow.
constexpr uint64_t kMaxTasks = 1 << 17;
// A transposed source is read whole for each tile, or in short runs: larger tiles read less often.
constexpr uint64_t kStridedTileBytes = uint64_t{16} << 20;
// Rows of a source that the tasks of a batch share. Larger ones fall out of a core's own cache.
constexpr uint64_t kSharedBytes = uint64_t{2} << 20;
// Elements that lie apart in their storage are read together up to this much.
constexpr uint64_t kLeastScratchBytes = uint64_t{64} << 10;

// Calls fn(begin, end) with parts of a row-major tensor, in units, of at most `cap` bytes when a unit is not larger:
// whole multiples of the largest row that fits, that never go over the end of the row above it.
template <typename Fn>
void ForEachBox(DimsView shape, uint64_t unit_bytes, uint64_t cap, const Fn& fn) {
  uint64_t row = 1;  // units of one step along dimension d - 1
  size_t d = shape.size();
  while (d > 0 && row * shape[d - 1] <= cap / unit_bytes) row *= shape[--d];
  uint64_t all = row;
  for (size_t up = 0; up < d; ++up) all *= shape[up];
  const uint64_t outer = d == 0 ? all : row * shape[d - 1];
  const uint64_t box = std::max<uint64_t>(1, cap / unit_bytes / row) * row;
  for (uint64_t begin = 0; begin < all;) {
    const uint64_t end = std::min(begin + box, begin / outer * outer + outer);
    fn(begin, end);
    begin = end;
  }
}

class Scheduler {
 public:
  Scheduler(const Plan& plan, const ScheduleLimits& limits, uint64_t tile_bytes, uint64_t most_bytes)
      : plan_(plan),
        tile_bytes_(tile_bytes),
        strided_tile_bytes_(std::min(std::max(kStridedTileBytes, tile_bytes), most_bytes)),
        shared_bytes_(std::min(std::max(kSharedBytes, tile_bytes), most_bytes)),
        next_(plan.outputs.size() + 1) {
    parts_.reserve(PartCount(plan));
    ForEachPart(plan, [this](const Part& part) {
      parts_.push_back({part.kind, part.index});
      ++next_[part.output + 1];
    });
    for (size_t o = 1; o < next_.size(); ++o) next_[o] += next_[o - 1];
    ends_.assign(next_.begin() + 1, next_.end());
    schedule_.steps.reserve(parts_.size());
    if (!limits.output_by_output) siblings_ = FindSiblings(plan);
  }

  void Run() {
    if (!siblings_.empty()) FindPlaces();
    for (size_t output = 0; output < ends_.size(); ++output) {
      while (next_[output] < ends_[output]) AddNext(output);
    }
  }

  Schedule Take() && { return std::move(schedule_); }

 private:
  static constexpr size_t kAlone = SIZE_MAX;

  struct PartNumber {
    StepKind kind;
    uint32_t index;
  };

  void FindPlaces() {
    group_of_.assign(plan_.regions.size(), kAlone);
    place_of_.assign(plan_.regions.size(), 0);
    for (size_t g = 0; g < siblings_.size(); ++g) {
      if (siblings_[g].row_bytes > shared_bytes_) continue;  // long enough to be read row by row
      for (const uint32_t r : siblings_[g].regions) group_of_[r] = g;
    }
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].kind == StepKind::kRegion) place_of_[parts_[p].index] = p;
    }
  }

  void AddNext(size_t output) {
    const PartNumber part = parts_[next_[output]];
    if (part.kind == StepKind::kRegion && !group_of_.empty() && group_of_[part.index] != kAlone)
      return AddSiblings(siblings_[group_of_[part.index]]);
    ++next_[output];
    AddPart(part);
  }

  void AddPart(PartNumber part) {
    switch (part.kind) {
      case StepKind::kLiteral: return AddLiteral(part.index);
      case StepKind::kGap: return AddGap(part.index);
      case StepKind::kRegion: return AddRegion(part.index);
    }
  }

  // What comes before them in their outputs first.
  void AddSiblings(const Siblings& group) {
    std::vector<uint32_t> regions;
    for (const uint32_t r : group.regions) {
      group_of_[r] = kAlone;
      size_t& next = next_[plan_.regions[r].output];
      if (next > place_of_[r]) continue;  // came before one of another group, and is there already
      while (next < place_of_[r]) AddPart(parts_[next++]);
      ++next;
      regions.push_back(r);
    }
    const DimsView rows = plan_.ShapeOf(plan_.regions[regions[0]]).first(group.cut);
    ForEachBox(rows, group.row_bytes, shared_bytes_, [&](uint64_t begin, uint64_t end) {
      schedule_.batches.push_back({.first_task = schedule_.tasks.size(), .task_count = regions.size()});
      for (const uint32_t r : regions) AddRows(r, group.cut, begin, end);
      schedule_.scratch_bytes = std::max(schedule_.scratch_bytes, (end - begin) * group.row_bytes);
    });
    joins_ = false;
  }

  void AddRows(uint32_t index, size_t cut, uint64_t begin, uint64_t end) {
    const Region& region = plan_.regions[index];
    const uint64_t row = RowBytes(plan_, region, cut);
    const Step step{.kind = StepKind::kRegion, .index = index, .begin = begin * row, .end = end * row};
    AddTask(region.output, region.offset + step.begin, step);
  }

  void AddLiteral(uint32_t index) {
    const Literal& literal = plan_.literals[index];
    AddStep(literal.output, literal.offset,
            {.kind = StepKind::kLiteral, .index = index, .begin = 0, .end = plan_.TextOf(literal).bytes.size()},
            tile_bytes_);
  }

  void AddGap(uint32_t index) {
    const Gap& gap = plan_.gaps[index];
    for (uint64_t begin = 0; begin < gap.bytes; begin += tile_bytes_) {
      const uint64_t end = std::min(gap.bytes, begin + tile_bytes_);
      AddStep(gap.output, gap.offset + begin, {.kind = StepKind::kGap, .index = index, .begin = begin, .end = end},
              tile_bytes_);
    }
  }

  void AddRegion(uint32_t index) {
    const Region& region = plan_.regions[index];
    const uint64_t cap = HasStridedSource(plan_, region) ? strided_tile_bytes_ : tile_bytes_;
    ForEachBox(plan_.ShapeOf(region), LargerItemBytes(region), cap, [&](uint64_t first, uint64_t last) {
      const Step step{.kind = StepKind::kRegion,
                      .index = index,
                      .begin = first * region.item_bytes,
                      .end = last * region.item_bytes};
      AddStep(region.output, region.offset + step.begin, step, cap);
    });
  }

  // Joins the last task when both together are small.
  void AddStep(uint32_t output, uint64_t offset, const Step& step, uint64_t cap) {
    const uint64_t bytes = step.end - step.begin;
    if (joins_) {
      Task& last = schedule_.tasks.back();
      if (last.output == output && last.offset + last.bytes == offset &&
          last.bytes + bytes <= std::min(cap, tile_bytes_)) {
        last.bytes += bytes;
        ++last.step_count;
        schedule_.steps.push_back(step);
        return;
      }
    }
    schedule_.batches.push_back({.first_task = schedule_.tasks.size(), .task_count = 1});
    AddTask(output, offset, step);
    joins_ = true;
  }

  void AddTask(uint32_t output, uint64_t offset, const Step& step) {
    schedule_.tasks.push_back({.output = output,
                               .offset = offset,
                               .bytes = step.end - step.begin,
                               .first_step = schedule_.steps.size(),
                               .step_count = 1});
    schedule_.steps.push_back(step);
  }

  const Plan& plan_;
  const uint64_t tile_bytes_;
  const uint64_t strided_tile_bytes_;
  const uint64_t shared_bytes_;  // of rows that siblings share
  std::vector<PartNumber> parts_;
  std::vector<size_t> next_;  // by output: into parts_, what was not added yet
  std::vector<size_t> ends_;  // by output
  std::vector<Siblings> siblings_;
  std::vector<size_t> group_of_;  // by region: into siblings_; empty without any
  std::vector<size_t> place_of_;  // by region: into parts_
  bool joins_ = false;            // steps may be added to the last task
  Schedule schedule_;
};

// The most that a tile needs in the type that it is cast from.
uint64_t StagingBytes(const Plan& plan, const Schedule& schedule) {
  uint64_t most = 0;
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::kRegion) continue;
    const Region& region = plan.regions[step.index];
    if (region.cast) most = std::max(most, (step.end - step.begin) / region.item_bytes * SourceItemBytes(region));
  }
  return most;
}

bool IsOneLiteral(const Schedule& schedule, const Task& task) {
  return task.step_count == 1 && schedule.steps[task.first_step].kind == StepKind::kLiteral;
}

}  // namespace

Result<Schedule> MakeSchedule(const Plan& plan, const ScheduleLimits& limits) {
  if (limits.memory_bytes < kLeastMemory) {
    return Fail(ErrorKind::kLimit, "memory budget is " + std::to_string(limits.memory_bytes) +
                                       " bytes, expected at least " + std::to_string(kLeastMemory));
  }
  uint64_t total = 0;
  bool decodes = false;
  for (const Region& region : plan.regions) total += region.bytes;
  for (const PlanSource& source : plan.sources) decodes = decodes || source.stored.codec != Codec::kNone;
  const uint64_t for_buffers = decodes ? limits.memory_bytes / 2 : limits.memory_bytes;
  // A thread has a buffer and as much again for scratch, and for what is cast a third.
  const uint64_t most = for_buffers / (plan.needs.tensor_math ? 3 : 2);
  const uint64_t tile = std::min(std::max(kTileBytes, total / kMaxTasks), most);
  Scheduler scheduler(plan, limits, tile, most);
  scheduler.Run();
  Schedule schedule = std::move(scheduler).Take();
  for (const Task& task : schedule.tasks) {
    // A literal alone is written from where it is.
    if (!IsOneLiteral(schedule, task)) schedule.buffer_bytes = std::max(schedule.buffer_bytes, task.bytes);
  }
  schedule.scratch_bytes = std::max({schedule.scratch_bytes, schedule.buffer_bytes, kLeastScratchBytes});
  schedule.staging_bytes = StagingBytes(plan, schedule);
  const uint64_t per_thread =
      std::max<uint64_t>(1, schedule.buffer_bytes + schedule.scratch_bytes + schedule.staging_bytes);
  schedule.jobs = static_cast<unsigned>(std::clamp<uint64_t>(for_buffers / per_thread, 1, std::max(1U, limits.jobs)));
  schedule.decoded_bytes = limits.memory_bytes - for_buffers;
  return schedule;
}

}  // namespace dcpctl
