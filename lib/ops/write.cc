#include "ops/write.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcp/naming.h"
#include "engine/directory_target.h"
#include "engine/file_copier.h"
#include "engine/target.h"
#include "ops/cast.h"
#include "ops/selected_source.h"
#include "plan/schedule.h"
#include "plugin/launcher.h"

namespace dcpctl::ops {

std::filesystem::path FolderOf(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

Result<std::unique_ptr<plugin::Device>> OpenDevice(const RunOptions& options) {
  const uint64_t local_rank = options.mpi ? plugin::ReadLaunch().local_rank.value_or(0) : 0;
  return plugin::OpenDevice(options.plugins, options.device, local_rank);
}

bool UsesDevice(const RunOptions& options) { return options.device != "cpu"; }

Result<void> CheckRunOptions(const RunOptions& options) {
  DCPCTL_TRY(OpenDevice(options));
  return {};
}

namespace {

uint64_t OutputBytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const PlanOutput& output : plan.outputs) bytes += output.bytes;
  return bytes;
}

uint64_t CopiedBytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const PlanCopy& copy : plan.copies) bytes += copy.link ? 0 : plan.files[copy.file].bytes;
  return bytes;
}

// The files that are taken over whole, into a directory that is there.
Result<engine::RunOutcome> CopyInto(const std::filesystem::path& directory, io::FileSystem& files, const Plan& plan,
                                    const RunOptions& options) {
  if (plan.copies.empty()) return engine::RunOutcome{};
  Announce(options, "copy", CopiedBytes(plan));
  return engine::CopyFiles({.plan = plan,
                            .files = files,
                            .directory = directory,
                            .jobs = options.jobs,
                            .memory_bytes = options.memory_bytes,
                            .reflink = options.reflink,
                            .stop = options.stop,
                            .observer = options.observer});
}

// The run looks after the files that it reads from. The plan was made from others, and is wrong if they changed: the
// metadata and, where new metadata is all that is written, the files that it tells of.
Result<void> CheckUnread(io::FileSystem& files, const Plan& plan) {
  const bool reads_none = plan.sources.empty() && plan.copies.empty();
  for (const PlanFile& file : plan.files) {
    const bool planned_from = file.relative == dcp::kMetadataName || dcp::ParseRankMetadataName(file.relative);
    if (!planned_from && !reads_none) continue;
    DCPCTL_ASSIGN(const io::FileInfo info, files.Stat(PathOf(file)));
    if (info.bytes == file.bytes && info.mtime_ns == file.mtime_ns) continue;
    return Fail(Place{.file = PathOf(file)}, ErrorKind::kMismatch, "changed while the checkpoint was being read");
  }
  return {};
}

Result<void> BeforeCommit(const RunOptions& options) {
  if (options.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped before the end");
  Announce(options, "commit");
  return {};
}

// Folders in the names of outputs, from the outermost to the innermost.
std::set<std::filesystem::path> FoldersIn(const Plan& plan) {
  std::set<std::filesystem::path> folders;
  const auto add = [&](const std::filesystem::path& name) {
    for (auto folder = name.parent_path(); !folder.empty() && folders.insert(folder).second;)
      folder = folder.parent_path();
  };
  for (const PlanCopy& copy : plan.copies) add(copy.path);
  for (const PlanOutput& output : plan.outputs) add(output.path);
  return folders;
}

Result<engine::RunOutcome> WriteStream(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options) {
  if (options.reflink == Reflink::kAlways)
    return Fail(ErrorKind::kUsage, "a stream shares no blocks with a file, expected another --reflink than always");
  DCPCTL_ASSIGN(const auto sink,
                kind == check::TargetKind::kStandardOutput ? io::OpenStandardOutput() : files.OpenStream(target));
  engine::StreamTarget stream(*sink, options.stop);
  DCPCTL_ASSIGN(const engine::RunOutcome outcome,
                RunInto(stream, files, plan, std::filesystem::temp_directory_path(), options));
  DCPCTL_TRY(sink->Finish());
  return outcome;
}

}  // namespace

uint64_t BytesOf(const Plan& plan) { return OutputBytes(plan) + CopiedBytes(plan); }

Result<void> MakeFolders(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory) {
  for (const auto& folder : FoldersIn(plan)) DCPCTL_TRY(files.MakeDirectory(directory / folder));
  return {};
}

Result<void> SyncFolders(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory) {
  const auto folders = FoldersIn(plan);
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    DCPCTL_TRY(files.SyncDirectory(directory / *folder));
  return {};
}

Finding ReplacedLeft(std::string path, std::string message) {
  return {.id = "convert.replaced-left",
          .severity = Severity::kWarning,
          .file = std::move(path),
          .message = std::move(message),
          .advice = "remove it by hand, nothing needs it any more"};
}

Result<void> Publish(io::StagedDirectory& staged, const RunOptions& options, Findings& findings) {
  DCPCTL_TRY(BeforeCommit(options));
  DCPCTL_ASSIGN(const std::optional<io::Leftover> leftover, staged.Commit(options.force));
  if (leftover) {
    std::error_code has_no_working_directory;
    const auto path = std::filesystem::absolute(leftover->path, has_no_working_directory);
    findings.push_back(ReplacedLeft((has_no_working_directory ? leftover->path : path.lexically_normal()).string(),
                                    "was replaced, and is still there: " + leftover->why.Text()));
  }
  return {};
}

Result<engine::RunOutcome> RunInto(engine::Target& target, io::FileSystem& files, const Plan& plan,
                                   const std::filesystem::path& scratch, const RunOptions& options) {
  DCPCTL_ASSIGN(const Schedule schedule, MakeSchedule(plan, {.jobs = EffectiveJobs(options.jobs),
                                                             .memory_bytes = options.memory_bytes,
                                                             .output_by_output = target.ordered()}));
  DCPCTL_ASSIGN(const auto device, OpenDevice(options));
  DCPCTL_ASSIGN(const plugin::TensorMathV1* const math, OpenMathFor(plan, options));
  Announce(options, "copy", OutputBytes(plan));
  DCPCTL_ASSIGN(const engine::RunOutcome outcome, engine::RunPlan({.plan = plan,
                                                                   .schedule = schedule,
                                                                   .files = files,
                                                                   .target = target,
                                                                   .scratch_directory = scratch,
                                                                   .reflink = options.reflink,
                                                                   .device = device.get(),
                                                                   .stop = options.stop,
                                                                   .observer = options.observer,
                                                                   .math = math}));
  DCPCTL_TRY(CheckUnread(files, plan));
  return outcome;
}

Result<engine::RunOutcome> FillDirectory(io::FileSystem& files, const Plan& plan,
                                         const std::filesystem::path& directory, const std::filesystem::path& scratch,
                                         const RunOptions& options,
                                         const std::function<Result<void>()>& others_are_done) {
  DCPCTL_ASSIGN(const engine::RunOutcome copied, CopyInto(directory, files, plan, options));
  engine::DirectoryTarget all(files, directory, plan, dcp::kMetadataName);
  DCPCTL_ASSIGN(engine::RunOutcome outcome, RunInto(all, files, plan, scratch, options));
  DCPCTL_TRY(all.FinishEmpty());
  DCPCTL_TRY(others_are_done());
  DCPCTL_TRY(all.FinishLast());
  outcome.bytes_read += copied.bytes_read;
  outcome.bytes_cloned += copied.bytes_cloned;
  return outcome;
}

Result<engine::RunOutcome> WriteOutput(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options) {
  if (kind != check::TargetKind::kFile) return WriteStream(files, plan, target, kind, options);
  DCPCTL_TRY(check::CheckSpace(files, target, OutputBytes(plan)));
  DCPCTL_ASSIGN(const auto file, files.CreateTemp(target));
  DCPCTL_TRY(file->Allocate(OutputBytes(plan)));
  engine::FileTarget whole({file.get()});
  DCPCTL_ASSIGN(const engine::RunOutcome outcome, RunInto(whole, files, plan, FolderOf(target), options));
  DCPCTL_TRY(BeforeCommit(options));
  DCPCTL_TRY(file->Commit(options.force));
  return outcome;
}

Result<engine::RunOutcome> WriteDirectory(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                          const RunOptions& options, Findings& findings) {
  DCPCTL_TRY(check::CheckSpace(files, target, BytesOf(plan)));
  DCPCTL_ASSIGN(io::StagedDirectory staged, io::StagedDirectory::Make(files, target));
  DCPCTL_TRY(MakeFolders(files, plan, staged.path()));
  DCPCTL_ASSIGN(const engine::RunOutcome outcome, FillDirectory(files, plan, staged.path(), FolderOf(target), options));
  DCPCTL_TRY(SyncFolders(files, plan, staged.path()));
  DCPCTL_TRY(Publish(staged, options, findings));
  return outcome;
}

Result<void> WriteAndRecord(Result<engine::RunOutcome> outcome, std::chrono::steady_clock::time_point start,
                            ConvertReport& report) {
  if (!outcome) return Fail(std::move(outcome).error());
  report.plan.bytes_read = outcome->bytes_read;
  report.plan.bytes_cloned = outcome->bytes_cloned;
  report.written = true;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace dcpctl::ops
