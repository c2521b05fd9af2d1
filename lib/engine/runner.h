// Carries out a schedule: reads, puts together, sums and writes. Makes every byte of one output; does not
// create or publish it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>

#include "dcpctl/convert.h"
#include "dcpctl/observer.h"
#include "dcpctl/plan.h"
#include "engine/target.h"
#include "io/file_system.h"
#include "plan/schedule.h"
#include "plugin/device.h"
#include "plugin/tensor_math.h"

namespace dcpctl::engine {

struct RunInput {
  const Plan& plan;
  const Schedule& schedule;
  io::FileSystem& files;
  Target& target;
  std::filesystem::path scratch_directory;
  Reflink reflink = Reflink::kAuto;
  plugin::Device* device = nullptr;  // that tiles are put together on
  std::stop_token stop = {};
  Observer* observer = nullptr;
  const plugin::TensorMathV1* math = nullptr;  // where the plan needs it
};

struct RunOutcome {
  uint64_t bytes_read = 0;
  uint64_t bytes_cloned = 0;
};

// Errors: kIo, kCorrupt (a checksum does not match), kMismatch (a source changed), kUnsupported (reflink
// asked for and not possible), kCancelled. What is in the target is then worthless.
Result<RunOutcome> RunPlan(const RunInput& input);

}  // namespace dcpctl::engine
