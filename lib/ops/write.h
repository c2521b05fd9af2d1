// The last stages of every conversion: schedule, preflight, run, commit.
#pragma once

#include <chrono>
#include <filesystem>

#include "check/preflight.h"
#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "io/file_system.h"

namespace dcpctl::ops {

// Whether the options ask for something that is not there: kUnsupported for a device without its plug-in.
Result<void> CheckRunOptions(const RunOptions& options);

// Writes the one output of `plan` to `target`. After a failure the target is what it was before.
Result<engine::RunOutcome> WriteOutput(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options);

// Writes the outputs of `plan`, named relative to it, to the new directory `target`.
Result<engine::RunOutcome> WriteDirectory(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                          const RunOptions& options);

// Puts the outcome of one of the two into a report, with the time since `start`.
Result<void> WriteAndRecord(Result<engine::RunOutcome> outcome, std::chrono::steady_clock::time_point start,
                            ConvertReport& report);

}  // namespace dcpctl::ops
