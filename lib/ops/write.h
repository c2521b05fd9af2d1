// The last stages of every conversion: schedule, preflight, run, commit.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "check/preflight.h"
#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "engine/zstd_target.h"
#include "io/file_system.h"

namespace dcpctl::ops {

// Whether the options ask for something that is not there: kUnsupported for a device that cannot be used or has no
// plug-in.
Result<void> CheckRunOptions(const RunOptions& options);
// Whether another than the processor copies.
[[nodiscard]] bool UsesDevice(const RunOptions& options);

// Writes the one output of `plan` to `target`. After a failure the target is what it was before.
Result<engine::RunOutcome> WriteOutput(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options);

// Writes the outputs of `plan`, named relative to it, to the new directory `target`.
Result<engine::RunOutcome> WriteDirectory(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                          const RunOptions& options);

struct CompressedRun {
  int level = 0;
  // Makes `.metadata` once it is known where in their files the outputs lie.
  std::function<Result<std::string>(std::span<const engine::ZstdTarget::Extent>)> metadata;
};

struct CompressedOutcome {
  engine::RunOutcome run;
  std::vector<PlanOutput> files;  // as long as they have become
};

// As WriteDirectory, each output compressed: see engine::ZstdTarget.
Result<CompressedOutcome> WriteCompressedDirectory(io::FileSystem& files, const Plan& plan,
                                                   const std::filesystem::path& target, const RunOptions& options,
                                                   const CompressedRun& compressed);

// Puts the outcome of one of the two into a report, with the time since `start`.
Result<void> WriteAndRecord(Result<engine::RunOutcome> outcome, std::chrono::steady_clock::time_point start,
                            ConvertReport& report);

}  // namespace dcpctl::ops
