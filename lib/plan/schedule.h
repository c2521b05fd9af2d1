// How a plan is carried out on one machine: its bytes cut into tasks of bounded size, in the order of the
// outputs. Pure; the bytes written do not depend on any of it.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/error.h"
#include "dcpctl/plan.h"

namespace dcpctl {

struct ScheduleLimits {
  unsigned jobs = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  bool output_by_output = false;  // none is begun before the one before it is done
};

enum class StepKind : uint8_t { kLiteral, kGap, kRegion };

// Part of a literal, a gap or a region. A part of a region is a box: whole rows of some dimension, so that each
// source gives it a box as well.
struct Step {
  StepKind kind = StepKind::kRegion;
  uint32_t index = 0;  // into Plan::literals, gaps or regions
  uint64_t begin = 0;  // bytes of it
  uint64_t end = 0;
};

// Steps that lie side by side in one output and are written together.
struct Task {
  uint32_t output = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t first_step = 0;
  uint64_t step_count = 0;
};

// Tasks that one thread does one after the other, because together they read the same bytes.
struct Batch {
  uint64_t first_task = 0;
  uint64_t task_count = 0;
};

// The tasks of an output are in its order; those of kSiblingOutputs outputs may be mixed.
struct Schedule {
  std::vector<Step> steps;
  std::vector<Task> tasks;
  std::vector<Batch> batches;  // all tasks, in their order
  unsigned jobs = 1;           // threads that the memory allows
  uint64_t buffer_bytes = 0;   // a thread needs this much to put a task together
  uint64_t scratch_bytes = 0;  // and this much to read what is then spread over it, or over the tasks of a batch
  uint64_t staging_bytes = 0;  // and this much to hold what is then cast
  uint64_t decoded_bytes = 0;  // left for decoded records, in all
};

// Memory below this is not worth splitting; the engine's own needs are about as large.
inline constexpr uint64_t kLeastMemory = uint64_t{4} << 20;

// kLimit when not even one thread fits the memory.
[[nodiscard]] Result<Schedule> MakeSchedule(const Plan& plan, const ScheduleLimits& limits);

}  // namespace dcpctl
