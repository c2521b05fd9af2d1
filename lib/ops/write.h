// The last stages of every conversion: schedule, preflight, run, commit.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "check/preflight.h"
#include "dcpctl/convert.h"
#include "dcpctl/finding.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "engine/target.h"
#include "io/file_system.h"
#include "io/staged_directory.h"
#include "plugin/device.h"

namespace dcpctl::ops {

// Whether the options ask for something that is not there: kUnsupported for a device that cannot be used or has no
// plug-in.
Result<void> CheckRunOptions(const RunOptions& options);
// Whether another than the processor copies.
[[nodiscard]] bool UsesDevice(const RunOptions& options);
// Null for the processor.
Result<std::unique_ptr<plugin::Device>> OpenDevice(const RunOptions& options);

// Writes the one output of `plan` to `target`. After a failure the target is what it was before.
Result<engine::RunOutcome> WriteOutput(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options);

// Writes the outputs of `plan`, named relative to it, to the new directory `target`. `findings` gets what is left of
// one that was there before.
Result<engine::RunOutcome> WriteDirectory(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                          const RunOptions& options, Findings& findings);

// The steps of that, for who takes them together with others. Bytes that the outputs take.
uint64_t BytesOf(const Plan& plan);
// Folders in the names of outputs, below `directory`.
Result<void> MakeFolders(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory);
// Schedules and runs a plan for targets that are there. `scratch` is a folder for what does not fit in memory.
Result<engine::RunOutcome> RunInto(engine::Target& target, io::FileSystem& files, const Plan& plan,
                                   const std::filesystem::path& scratch, const RunOptions& options);
// Writes the outputs of `plan` into `directory`, where their folders are, and syncs them; metadata last, after
// `others_are_done`: what is left of a run that was killed is no checkpoint.
Result<engine::RunOutcome> FillDirectory(
    io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory,
    const std::filesystem::path& scratch, const RunOptions& options,
    const std::function<Result<void>()>& others_are_done = [] { return Result<void>(); });
// That what was replaced is now at `path`, and what happened to it.
Finding ReplacedLeft(std::string path, std::string message);
// Syncs those folders.
Result<void> SyncFolders(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory);
// The last moment to turn back (kCancelled); then the directory gets its name.
Result<void> Publish(io::StagedDirectory& staged, const RunOptions& options, Findings& findings);
// The folder that holds `target`.
std::filesystem::path FolderOf(const std::filesystem::path& target);

// Puts the outcome of one of the two into a report, with the time since `start`.
Result<void> WriteAndRecord(Result<engine::RunOutcome> outcome, std::chrono::steady_clock::time_point start,
                            ConvertReport& report);

}  // namespace dcpctl::ops
