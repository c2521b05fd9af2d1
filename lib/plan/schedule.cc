#include "plan/schedule.h"

#include <algorithm>
#include <utility>

namespace dcpctl {
namespace {

// Small enough to stay in a core's own cache between being read, summed and written: on the machines tried,
// larger buffers were slower and smaller ones no faster.
constexpr uint64_t kTileBytes = uint64_t{1} << 20;
// A terabyte in tiles of a MiB is a million tasks; beyond this many, tiles grow.
constexpr uint64_t kMaxTasks = 1 << 17;
// A transposed source is read whole for each tile, or in short runs: larger tiles read less often.
constexpr uint64_t kStridedTileBytes = uint64_t{16} << 20;
// Elements that lie apart in their storage are read together up to this much.
constexpr uint64_t kLeastScratchBytes = uint64_t{64} << 10;

bool HasStridedSource(const Plan& plan, const Region& region) {
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    const DimsView strides = plan.StridesOf(region, plan.sources[piece.source]);
    for (size_t d = 1; d < strides.size(); ++d) {
      if (strides[d] > strides[d - 1]) return true;
    }
  }
  return false;
}

class Scheduler {
 public:
  Scheduler(const Plan& plan, uint64_t tile_bytes, uint64_t strided_tile_bytes)
      : plan_(plan), tile_bytes_(tile_bytes), strided_tile_bytes_(strided_tile_bytes) {}

  void Run() {
    for (const Part& part : InOutputOrder()) {
      switch (part.kind) {
        case StepKind::kLiteral: AddLiteral(part.index); break;
        case StepKind::kGap: AddGap(part.index); break;
        case StepKind::kRegion: AddRegion(part.index); break;
      }
    }
  }

  Schedule Take() && { return std::move(schedule_); }

 private:
  struct Part {
    StepKind kind;
    uint32_t index;
    uint32_t output;
    uint64_t offset;
  };

  std::vector<Part> InOutputOrder() const {
    std::vector<Part> parts;
    const auto add = [&](StepKind kind, size_t index, const auto& part, uint64_t bytes) {
      if (bytes != 0) parts.push_back({kind, static_cast<uint32_t>(index), part.output, part.offset});
    };
    for (size_t i = 0; i < plan_.literals.size(); ++i)
      add(StepKind::kLiteral, i, plan_.literals[i], plan_.literals[i].bytes.size());
    for (size_t i = 0; i < plan_.gaps.size(); ++i) add(StepKind::kGap, i, plan_.gaps[i], plan_.gaps[i].bytes);
    for (size_t i = 0; i < plan_.regions.size(); ++i)
      add(StepKind::kRegion, i, plan_.regions[i], plan_.regions[i].bytes);
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::pair(a.output, a.offset) < std::pair(b.output, b.offset);
    });
    return parts;
  }

  void AddLiteral(uint32_t index) {
    const Literal& literal = plan_.literals[index];
    AddStep(literal.output, literal.offset,
            {.kind = StepKind::kLiteral, .index = index, .begin = 0, .end = literal.bytes.size()}, tile_bytes_);
  }

  void AddGap(uint32_t index) {
    const Gap& gap = plan_.gaps[index];
    for (uint64_t begin = 0; begin < gap.bytes; begin += tile_bytes_) {
      const uint64_t end = std::min(gap.bytes, begin + tile_bytes_);
      AddStep(gap.output, gap.offset + begin, {.kind = StepKind::kGap, .index = index, .begin = begin, .end = end},
              tile_bytes_);
    }
  }

  // Tiles are whole multiples of the largest row that fits, and never go over the end of the row above it.
  void AddRegion(uint32_t index) {
    const Region& region = plan_.regions[index];
    const uint64_t cap = HasStridedSource(plan_, region) ? strided_tile_bytes_ : tile_bytes_;
    const DimsView shape = plan_.ShapeOf(region);
    uint64_t row = region.item_bytes;  // bytes of one step along dimension d - 1
    size_t d = shape.size();
    while (d > 0 && row * shape[d - 1] <= cap) row *= shape[--d];
    const uint64_t outer = d == 0 ? region.bytes : row * shape[d - 1];
    const uint64_t tile = std::max<uint64_t>(1, cap / row) * row;
    for (uint64_t begin = 0; begin < region.bytes;) {
      const uint64_t end_of_row = begin / outer * outer + outer;
      const uint64_t end = std::min(begin + tile, end_of_row);
      AddStep(region.output, region.offset + begin,
              {.kind = StepKind::kRegion, .index = index, .begin = begin, .end = end}, cap);
      begin = end;
    }
  }

  // Joins the last task when both together are small.
  void AddStep(uint32_t output, uint64_t offset, const Step& step, uint64_t cap) {
    const uint64_t bytes = step.end - step.begin;
    if (!schedule_.tasks.empty()) {
      Task& last = schedule_.tasks.back();
      if (last.output == output && last.offset + last.bytes == offset &&
          last.bytes + bytes <= std::min(cap, tile_bytes_)) {
        last.bytes += bytes;
        ++last.step_count;
        schedule_.steps.push_back(step);
        return;
      }
    }
    schedule_.tasks.push_back(
        {.output = output, .offset = offset, .bytes = bytes, .first_step = schedule_.steps.size(), .step_count = 1});
    schedule_.steps.push_back(step);
  }

  const Plan& plan_;
  const uint64_t tile_bytes_;
  const uint64_t strided_tile_bytes_;
  Schedule schedule_;
};

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
  // A thread has a buffer and as much again for scratch.
  const uint64_t most = for_buffers / 2;
  const uint64_t tile = std::min(std::max(kTileBytes, total / kMaxTasks), most);
  Scheduler scheduler(plan, tile, std::min(std::max(kStridedTileBytes, tile), most));
  scheduler.Run();
  Schedule schedule = std::move(scheduler).Take();
  for (const Task& task : schedule.tasks) {
    // A literal alone is written from where it is.
    if (!IsOneLiteral(schedule, task)) schedule.buffer_bytes = std::max(schedule.buffer_bytes, task.bytes);
  }
  schedule.scratch_bytes = std::max(schedule.buffer_bytes, kLeastScratchBytes);
  const uint64_t per_thread = std::max<uint64_t>(1, schedule.buffer_bytes + schedule.scratch_bytes);
  schedule.jobs = static_cast<unsigned>(std::clamp<uint64_t>(for_buffers / per_thread, 1, std::max(1U, limits.jobs)));
  schedule.decoded_bytes = limits.memory_bytes - for_buffers;
  return schedule;
}

}  // namespace dcpctl
