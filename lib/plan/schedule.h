// How a plan is carried out on one machine: its bytes cut into tasks of bounded size, in the order of the
// output. Pure; the bytes written do not depend on any of it.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/error.h"
#include "dcpctl/plan.h"

namespace dcpctl {

struct ScheduleLimits {
  unsigned jobs = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
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

struct Schedule {
  std::vector<Step> steps;
  std::vector<Task> tasks;
  unsigned jobs = 1;           // threads that the memory allows
  uint64_t buffer_bytes = 0;   // a thread needs this much to put a task together
  uint64_t scratch_bytes = 0;  // and this much to read what is then spread over it
  uint64_t decoded_bytes = 0;  // left for decoded records, in all
};

// Memory below this is not worth splitting; the engine's own needs are about as large.
inline constexpr uint64_t kLeastMemory = uint64_t{4} << 20;

// kLimit when not even one thread fits the memory.
[[nodiscard]] Result<Schedule> MakeSchedule(const Plan& plan, const ScheduleLimits& limits);

}  // namespace dcpctl
