#include "engine/runner.h"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "engine/buffer_pool.h"
#include "engine/cloner.h"
#include "engine/device_tiles.h"
#include "engine/plan_files.h"
#include "engine/scratch.h"
#include "engine/source_reader.h"
#include "engine/tile_filler.h"
#include "io/file_cache.h"

namespace dcpctl::engine {
namespace {

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class Runner {
 public:
  explicit Runner(const RunInput& input)
      : in_(input),
        plan_(input.plan),
        schedule_(input.schedule),
        cache_(input.files, PathsOf(input.plan)),
        reader_(input.plan, cache_, input.files, input.schedule.decoded_bytes, input.scratch_directory),
        filler_(input.plan, reader_, input.math),
        buffers_(input.schedule.jobs, input.schedule.buffer_bytes, input.device),
        scratch_(input.schedule.jobs, input.schedule.scratch_bytes + input.schedule.staging_bytes, input.device),
        left_(input.plan.regions.size()),
        cloned_(input.plan.regions.size()),
        outputs_(input.plan.outputs.size()) {
    for (size_t r = 0; r < left_.size(); ++r) left_[r] = plan_.regions[r].bytes;
    for (uint32_t r = 0; r < plan_.regions.size(); ++r) outputs_[plan_.regions[r].output].regions.push_back(r);
    for (const Task& task : schedule_.tasks) ++outputs_[task.output].tasks_left;
  }

  Result<RunOutcome> Run() {
    if (auto done = RunTasks(); !done) return Fail(Blame(std::move(done).error()));
    DCPCTL_TRY(cache_.CheckUnchanged());
    return RunOutcome{.bytes_read = reader_.bytes_read(), .bytes_cloned = bytes_cloned_};
  }

 private:
  // Tasks come in about the order of the outputs, so that few outputs are begun and not finished at any time.
  struct Output {
    std::mutex mutex;  // guards the two below
    bool begun = false;
    std::vector<uint32_t> deferred;  // literals that waited for a checksum
    std::vector<uint32_t> regions;
    std::atomic<uint64_t> tasks_left = 0;
  };

  // Before the first task of an output: clones what can be, so that no task touches it.
  Result<void> BeginOutput(uint32_t index, Scratch& scratch) {
    Output& output = outputs_[index];
    const std::lock_guard lock(output.mutex);
    if (output.begun) return {};
    output.begun = true;
    DCPCTL_ASSIGN(io::WriteFile* const file, in_.target.File(index));
    if (file == nullptr) return {};
    for (const uint32_t r : output.regions) {
      DCPCTL_ASSIGN(const bool cloned,
                    CloneRegion(plan_, plan_.regions[r], in_.reflink, cache_, reader_, *file, filler_.digest(r)));
      if (!cloned) continue;
      cloned_[r] = true;
      bytes_cloned_ += plan_.regions[r].bytes;
      DCPCTL_TRY(filler_.SkipRegion(r, scratch));
    }
    return {};
  }

  Result<void> EndTaskOf(uint32_t index) {
    Output& output = outputs_[index];
    if (--output.tasks_left > 0) return {};
    for (const uint32_t literal : output.deferred) DCPCTL_TRY(WriteDeferred(literal));
    return in_.target.Finish(index);
  }

  Result<void> RunTasks() {
    return ParallelFor(schedule_.batches.size(), schedule_.jobs, in_.stop,
                       [this](uint64_t i) { return RunBatch(schedule_.batches[i]); });
  }

  // A source that is being rewritten looks damaged.
  Error Blame(Error error) {
    if (error.kind() != ErrorKind::kCorrupt) return error;
    auto same = cache_.CheckUnchanged();
    return same ? std::move(error) : std::move(same).error();
  }

  Result<void> RunBatch(const Batch& batch) {
    const auto lease = scratch_.Take();
    const auto memory = lease.bytes().first(schedule_.scratch_bytes);
    DCPCTL_ASSIGN(DeviceTiles* const device, TilesFor(memory));
    Scratch scratch(memory, batch.task_count > 1, device, lease.bytes().subspan(memory.size()));
    for (uint64_t i = 0; i < batch.task_count; ++i) DCPCTL_TRY(RunTask(batch.first_task + i, scratch));
    return {};
  }

  // Made with the scratch that they mirror. Null without a device.
  Result<DeviceTiles*> TilesFor(std::span<std::byte> scratch) {
    if (in_.device == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    auto& tiles = device_tiles_[scratch.data()];
    if (!tiles) {
      DCPCTL_ASSIGN(tiles,
                    DeviceTiles::Open(*in_.device, scratch, std::max(schedule_.buffer_bytes, schedule_.staging_bytes)));
    }
    return tiles.get();
  }

  // Others may wait for the end of this task, however it comes.
  Result<void> RunTask(uint64_t number, Scratch& scratch) {
    try {
      const Task& task = schedule_.tasks[number];
      auto done = BeginOutput(task.output, scratch);
      if (done) done = RunSteps(number, task, scratch);
      in_.target.End(number, done.has_value());
      return done ? EndTaskOf(task.output) : done;
    } catch (...) {
      in_.target.End(number, false);
      throw;
    }
  }

  Result<void> RunSteps(uint64_t number, const Task& task, Scratch& scratch) {
    const Step& first = schedule_.steps[task.first_step];
    if (task.step_count == 1 && first.kind == StepKind::kLiteral) return WriteLiteral(number, task, first.index);
    const auto lease = buffers_.Take();
    const auto buffer = lease.bytes().first(task.bytes);
    DCPCTL_TRY(ForEachPart(task, buffer, [&](const Step& step, std::span<std::byte> part) {
      return IsCloned(step) ? Result<void>() : FillStep(step, part, scratch);
    }));
    DCPCTL_TRY(in_.target.Begin(number));
    DCPCTL_TRY(ForEachPart(task, buffer, [this](const Step& step, std::span<std::byte> part) -> Result<void> {
      if (step.kind == StepKind::kLiteral) PatchOrDefer(step.index, part);
      return {};
    }));
    DCPCTL_TRY(WriteParts(task, buffer));
    Report(task.bytes);
    return {};
  }

  template <typename Fn>
  Result<void> ForEachPart(const Task& task, std::span<std::byte> buffer, const Fn& fn) {
    uint64_t pos = 0;
    for (uint64_t s = 0; s < task.step_count; ++s) {
      const Step& step = schedule_.steps[task.first_step + s];
      const auto part = buffer.subspan(pos, step.end - step.begin);
      pos += part.size();
      DCPCTL_TRY(fn(step, part));
    }
    return {};
  }

  bool IsCloned(const Step& step) const { return step.kind == StepKind::kRegion && cloned_[step.index]; }

  // All of the task in one go, but for regions that were cloned and are there already.
  Result<void> WriteParts(const Task& task, std::span<std::byte> buffer) {
    uint64_t begin = 0;
    uint64_t pos = 0;
    for (uint64_t s = 0; s <= task.step_count; ++s) {
      const Step* step = s < task.step_count ? &schedule_.steps[task.first_step + s] : nullptr;
      if (step == nullptr || IsCloned(*step)) {
        if (pos > begin)
          DCPCTL_TRY(in_.target.Write(task.output, task.offset + begin, buffer.subspan(begin, pos - begin)));
        begin = step == nullptr ? pos : pos + (step->end - step->begin);
      }
      if (step != nullptr) pos += step->end - step->begin;
    }
    return {};
  }

  Result<void> FillStep(const Step& step, std::span<std::byte> part, Scratch& scratch) {
    if (step.kind == StepKind::kGap) {
      std::memset(part.data(), 0, part.size());
      return {};
    }
    if (step.kind == StepKind::kLiteral) {
      std::memcpy(part.data(), TextOf(step.index).bytes.data() + step.begin, part.size());
      return {};
    }
    DCPCTL_TRY(filler_.Fill(step.index, step.begin, part, scratch));
    if (left_[step.index].fetch_sub(part.size()) != part.size()) return {};
    DCPCTL_TRY(filler_.VerifySources(step.index, scratch));
    reader_.FinishRegion(plan_.regions[step.index]);
    return {};
  }

  const Text& TextOf(uint32_t literal) const { return plan_.TextOf(plan_.literals[literal]); }

  Result<void> WriteLiteral(uint64_t number, const Task& task, uint32_t index) {
    DCPCTL_TRY(in_.target.Begin(number));
    const Text& text = TextOf(index);
    if (text.holes.empty()) {
      DCPCTL_TRY(in_.target.Write(task.output, task.offset, AsBytes(text.bytes)));
    } else {
      std::string bytes = text.bytes;
      PatchOrDefer(index, std::as_writable_bytes(std::span(bytes)));
      DCPCTL_TRY(in_.target.Write(task.output, task.offset, AsBytes(bytes)));
    }
    Report(task.bytes);
    return {};
  }

  // Puts checksums into a literal; when one is not known yet, the literal is written again at the end of its output.
  void PatchOrDefer(uint32_t index, std::span<std::byte> bytes) {
    if (Patch(index, bytes)) return;
    Output& output = outputs_[plan_.literals[index].output];
    const std::lock_guard lock(output.mutex);
    output.deferred.push_back(index);
  }

  bool Patch(uint32_t index, std::span<std::byte> bytes) {
    for (const Hole& hole : TextOf(index).holes) {
      const uint32_t region = plan_.literals[index].first_region + hole.region;
      const auto crc = filler_.digest(region).Whole(plan_.regions[region].bytes);
      if (!crc) return false;
      for (size_t i = 0; i < sizeof(*crc); ++i) bytes[hole.pos + i] = static_cast<std::byte>(*crc >> (8 * i));
    }
    return true;
  }

  Result<void> WriteDeferred(uint32_t index) {
    const Literal& literal = plan_.literals[index];
    std::string bytes = TextOf(index).bytes;
    if (in_.target.ordered() || !Patch(index, std::as_writable_bytes(std::span(bytes)))) {
      return Fail(ErrorKind::kInternal, "a checksum was not known when it had to be written");
    }
    return in_.target.Write(literal.output, literal.offset, AsBytes(bytes));
  }

  void Report(uint64_t bytes) {
    if (in_.observer == nullptr) return;
    const std::lock_guard lock(mutex_);
    in_.observer->OnBytes(bytes);
  }

  const RunInput& in_;
  const Plan& plan_;
  const Schedule& schedule_;
  io::FileCache cache_;
  SourceReader reader_;
  TileFiller filler_;
  BufferPool buffers_;
  BufferPool scratch_;
  std::vector<std::atomic<uint64_t>> left_;  // bytes of each region not filled yet
  std::vector<std::atomic<bool>> cloned_;    // by region
  std::vector<Output> outputs_;
  std::atomic<uint64_t> bytes_cloned_ = 0;
  std::mutex mutex_;  // guards the observer and the one below
  std::map<const std::byte*, std::unique_ptr<DeviceTiles>> device_tiles_;
};

}  // namespace

Result<RunOutcome> RunPlan(const RunInput& input) { return Runner(input).Run(); }

}  // namespace dcpctl::engine
