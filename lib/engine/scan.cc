#include "engine/scan.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/result.h"
#include "engine/buffer_pool.h"
#include "engine/plan_files.h"
#include "engine/source_reader.h"
#include "engine/tile_filler.h"
#include "io/file_cache.h"
#include "plan/schedule.h"

namespace dcpctl::engine {
namespace {

// One plan's way to its bytes.
struct Source {
  Source(const Plan& plan, const ScanInput& input, uint64_t decoded_bytes)
      : cache(input.files, PathsOf(plan)),
        reader(plan, cache, input.files, decoded_bytes, input.scratch_directory),
        filler(plan, reader) {}

  io::FileCache cache;
  SourceReader reader;
  TileFiller filler;
};

// Steps of regions in the order of regions and bytes; `first` of each region, and one more.
struct RegionSteps {
  std::vector<Step> steps;
  std::vector<uint64_t> first;
};

RegionSteps StepsOf(const Schedule& schedule, size_t regions) {
  RegionSteps found;
  for (const Step& step : schedule.steps) {
    while (found.first.size() <= step.index) found.first.push_back(found.steps.size());
    found.steps.push_back(step);
  }
  while (found.first.size() <= regions) found.first.push_back(found.steps.size());
  return found;
}

class Scanner {
 public:
  Scanner(const ScanInput& input, const TileVisitor& visit)
      : in_(input), visit_(visit), left_(input.plans[0].regions.size()) {
    for (size_t r = 0; r < left_.size(); ++r) left_[r] = input.plans[0].regions[r].bytes;
  }

  Result<uint64_t> Run() {
    DCPCTL_TRY(Schedule());
    if (auto done = ReadAll(); !done) return Fail(Blame(std::move(done).error()));
    uint64_t bytes_read = 0;
    for (Source& source : sources_) {
      DCPCTL_TRY(source.cache.CheckUnchanged());
      bytes_read += source.reader.bytes_read();
    }
    return bytes_read;
  }

 private:
  // Steps [first, last) that one thread takes.
  struct Task {
    uint64_t first;
    uint64_t last;
    uint64_t bytes;
  };

  Result<void> Schedule() {
    const uint64_t memory = std::max(in_.memory_bytes / in_.plans.size(), kLeastMemory);
    std::vector<RegionSteps> by_plan;
    jobs_ = in_.jobs;
    for (const Plan& plan : in_.plans) {
      DCPCTL_ASSIGN(const dcpctl::Schedule schedule, MakeSchedule(plan, {.jobs = in_.jobs, .memory_bytes = memory}));
      sources_.emplace_back(plan, in_, schedule.decoded_bytes);
      by_plan.push_back(StepsOf(schedule, plan.regions.size()));
      jobs_ = std::min(jobs_, schedule.jobs);
    }
    ChooseTiles(by_plan);
    for (const Step& step : steps_) tile_bytes_ = std::max(tile_bytes_, step.end - step.begin);
    // A thread has a tile of each plan and room to read one; with larger tiles of another plan there may be fewer.
    const uint64_t per_thread = std::max<uint64_t>(1, (in_.plans.size() + 1) * tile_bytes_);
    jobs_ = static_cast<unsigned>(std::clamp<uint64_t>(memory * in_.plans.size() / per_thread, 1, std::max(1U, jobs_)));
    MakeTasks();
    return {};
  }

  // Of each region the larger tiles of the plans': what is strided in one of them wants those.
  void ChooseTiles(const std::vector<RegionSteps>& by_plan) {
    for (size_t r = 0; r < left_.size(); ++r) {
      const RegionSteps* best = &by_plan[0];
      for (const RegionSteps& other : by_plan) {
        if (other.first[r + 1] - other.first[r] < best->first[r + 1] - best->first[r]) best = &other;
      }
      const auto begin = best->steps.begin();
      steps_.insert(steps_.end(), begin + static_cast<std::ptrdiff_t>(best->first[r]),
                    begin + static_cast<std::ptrdiff_t>(best->first[r + 1]));
    }
  }

  // Small regions together; in order, all of a region.
  void MakeTasks() {
    constexpr uint64_t kSmall = uint64_t{1} << 20;
    for (uint64_t s = 0; s < steps_.size(); ++s) {
      const uint64_t bytes = steps_[s].end - steps_[s].begin;
      const bool goes_on = s > 0 && in_.order == ScanOrder::kInRegion && steps_[s].index == steps_[s - 1].index;
      if (!tasks_.empty() && (goes_on || tasks_.back().bytes + bytes <= kSmall)) {
        tasks_.back().last = s + 1;
        tasks_.back().bytes += bytes;
      } else {
        tasks_.push_back({.first = s, .last = s + 1, .bytes = bytes});
      }
    }
    // A large region that comes last would keep one thread busy and the others idle.
    if (in_.order == ScanOrder::kInRegion)
      std::stable_sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) { return a.bytes > b.bytes; });
  }

  Result<void> ReadAll() {
    const auto plans = static_cast<unsigned>(in_.plans.size());
    BufferPool tiles(jobs_ * plans, tile_bytes_);
    BufferPool scratch(jobs_, std::max(tile_bytes_, uint64_t{64} << 10));
    return ParallelFor(tasks_.size(), jobs_, in_.stop, [&](uint64_t t) -> Result<void> {
      std::vector<BufferPool::Lease> leases;
      for (unsigned p = 0; p < plans; ++p) leases.push_back(tiles.Take());
      const auto lease = scratch.Take();
      Scratch room(lease.bytes());
      for (uint64_t s = tasks_[t].first; s < tasks_[t].last; ++s) {
        if (in_.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped before the end");
        DCPCTL_TRY(ReadStep(steps_[s], leases, room));
      }
      return {};
    });
  }

  Result<void> ReadStep(const Step& step, std::span<BufferPool::Lease> leases, Scratch& room) {
    std::vector<std::span<const std::byte>> tiles;
    for (Source& source : sources_) {
      const auto tile = leases[tiles.size()].bytes().first(step.end - step.begin);
      DCPCTL_TRY(source.filler.Fill(step.index, step.begin, tile, room));
      tiles.emplace_back(tile);
    }
    DCPCTL_TRY(visit_(step.index, step.begin, tiles));
    Report(step.end - step.begin);
    if (left_[step.index].fetch_sub(step.end - step.begin) != step.end - step.begin) return {};
    size_t plan = 0;
    for (Source& source : sources_) {
      DCPCTL_TRY(source.filler.VerifySources(step.index, room));
      source.reader.FinishRegion(in_.plans[plan++].regions[step.index]);
    }
    return {};
  }

  // A source that is being rewritten looks damaged.
  Error Blame(Error error) {
    if (error.kind() != ErrorKind::kCorrupt) return error;
    for (Source& source : sources_) {
      if (auto same = source.cache.CheckUnchanged(); !same) return std::move(same).error();
    }
    return error;
  }

  void Report(uint64_t bytes) {
    if (in_.observer == nullptr) return;
    const std::lock_guard lock(mutex_);
    in_.observer->OnBytes(bytes);
  }

  const ScanInput& in_;
  const TileVisitor& visit_;
  std::list<Source> sources_;  // by plan; never moved
  std::vector<Step> steps_;
  std::vector<Task> tasks_;
  std::vector<std::atomic<uint64_t>> left_;  // bytes of each region not visited yet
  unsigned jobs_ = 1;
  uint64_t tile_bytes_ = 0;
  std::mutex mutex_;  // guards the observer
};

}  // namespace

Result<uint64_t> ScanPlans(const ScanInput& input, const TileVisitor& visit) { return Scanner(input, visit).Run(); }

}  // namespace dcpctl::engine
