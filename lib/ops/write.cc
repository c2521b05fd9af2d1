#include "ops/write.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcp/naming.h"
#include "engine/directory_target.h"
#include "engine/file_copier.h"
#include "engine/target.h"
#include "io/staged_directory.h"
#include "ops/selected_source.h"
#include "plan/schedule.h"
#include "plugin/device.h"

namespace dcpctl::ops {
namespace {

std::filesystem::path FolderOf(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

// Null for the processor.
Result<std::unique_ptr<plugin::Device>> OpenDevice(const RunOptions& options) {
  DCPCTL_TRY(plugin::CheckDeviceName(options.device));
  if (!UsesDevice(options)) return nullptr;
  return plugin::OpenDevice(options.plugins, options.device, 0);
}

}  // namespace

bool UsesDevice(const RunOptions& options) { return options.device != "cpu"; }

Result<void> CheckRunOptions(const RunOptions& options) {
  DCPCTL_TRY(OpenDevice(options));
  return {};
}

namespace {

// Schedules and runs a plan for targets that are there.
class PlanRun {
 public:
  PlanRun(io::FileSystem& files, const Plan& plan, const RunOptions& options)
      : files_(files), plan_(plan), options_(options) {}

  Result<engine::RunOutcome> To(engine::Target& target, const std::filesystem::path& scratch) const {
    DCPCTL_ASSIGN(const Schedule schedule, MakeSchedule(plan_, {.jobs = EffectiveJobs(options_.jobs),
                                                                .memory_bytes = options_.memory_bytes,
                                                                .output_by_output = target.ordered()}));
    DCPCTL_ASSIGN(const auto device, OpenDevice(options_));
    Announce(options_, "copy", Bytes());
    DCPCTL_ASSIGN(const engine::RunOutcome outcome, engine::RunPlan({.plan = plan_,
                                                                     .schedule = schedule,
                                                                     .files = files_,
                                                                     .target = target,
                                                                     .scratch_directory = scratch,
                                                                     .reflink = options_.reflink,
                                                                     .device = device.get(),
                                                                     .stop = options_.stop,
                                                                     .observer = options_.observer}));
    DCPCTL_TRY(CheckMetadata());
    return outcome;
  }

  // The last moment to turn back.
  Result<void> BeforeCommit() const {
    if (options_.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped before the end");
    Announce(options_, "commit");
    return {};
  }

  // The files that are taken over whole, into a directory that is there.
  Result<engine::RunOutcome> CopyInto(const std::filesystem::path& directory) const {
    if (plan_.copies.empty()) return engine::RunOutcome{};
    Announce(options_, "copy", CopiedBytes());
    return engine::CopyFiles({.plan = plan_,
                              .files = files_,
                              .directory = directory,
                              .jobs = options_.jobs,
                              .memory_bytes = options_.memory_bytes,
                              .reflink = options_.reflink,
                              .stop = options_.stop,
                              .observer = options_.observer});
  }

  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const PlanOutput& output : plan_.outputs) bytes += output.bytes;
    return bytes;
  }

  uint64_t CopiedBytes() const {
    uint64_t bytes = 0;
    for (const PlanCopy& copy : plan_.copies) bytes += copy.link ? 0 : plan_.files[copy.file].bytes;
    return bytes;
  }

 private:
  // The run looks after the files that it reads from. The plan was made from others, and is wrong if they changed.
  Result<void> CheckMetadata() const {
    for (const PlanFile& file : plan_.files) {
      if (file.relative != dcp::kMetadataName && !dcp::ParseRankMetadataName(file.relative)) continue;
      DCPCTL_ASSIGN(const io::FileInfo info, files_.Stat(PathOf(file)));
      if (info.bytes == file.bytes && info.mtime_ns == file.mtime_ns) continue;
      return Fail(Place{.file = PathOf(file)}, ErrorKind::kMismatch, "changed while the checkpoint was being read");
    }
    return {};
  }

  io::FileSystem& files_;
  const Plan& plan_;
  const RunOptions& options_;
};

// Folders in the names of outputs, which are relative to `root`. From the outermost to the innermost.
Result<std::set<std::filesystem::path>> MakeFolders(io::FileSystem& files, const Plan& plan,
                                                    const std::filesystem::path& root) {
  std::set<std::filesystem::path> folders;
  const auto add = [&](const std::filesystem::path& name) {
    for (auto folder = name.parent_path(); !folder.empty() && folders.insert(folder).second;)
      folder = folder.parent_path();
  };
  for (const PlanCopy& copy : plan.copies) add(copy.path);
  for (const PlanOutput& output : plan.outputs) add(output.path);
  for (const auto& folder : folders) DCPCTL_TRY(files.MakeDirectory(root / folder));
  return folders;
}

Result<engine::RunOutcome> WriteStream(io::FileSystem& files, const PlanRun& job, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options) {
  if (options.reflink == Reflink::kAlways)
    return Fail(ErrorKind::kUsage, "a stream shares no blocks with a file, expected another --reflink than always");
  DCPCTL_ASSIGN(const auto sink,
                kind == check::TargetKind::kStandardOutput ? io::OpenStandardOutput() : files.OpenStream(target));
  engine::StreamTarget stream(*sink, options.stop);
  DCPCTL_ASSIGN(const engine::RunOutcome outcome, job.To(stream, std::filesystem::temp_directory_path()));
  DCPCTL_TRY(sink->Finish());
  return outcome;
}

}  // namespace

Result<engine::RunOutcome> WriteOutput(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                       check::TargetKind kind, const RunOptions& options) {
  const PlanRun job(files, plan, options);
  if (kind != check::TargetKind::kFile) return WriteStream(files, job, target, kind, options);
  DCPCTL_TRY(check::CheckSpace(files, target, job.Bytes()));
  DCPCTL_ASSIGN(const auto file, files.CreateTemp(target));
  DCPCTL_TRY(file->Allocate(job.Bytes()));
  engine::FileTarget whole({file.get()});
  DCPCTL_ASSIGN(const engine::RunOutcome outcome, job.To(whole, FolderOf(target)));
  DCPCTL_TRY(job.BeforeCommit());
  DCPCTL_TRY(file->Commit(options.force));
  return outcome;
}

Result<engine::RunOutcome> WriteDirectory(io::FileSystem& files, const Plan& plan, const std::filesystem::path& target,
                                          const RunOptions& options) {
  const PlanRun job(files, plan, options);
  DCPCTL_TRY(check::CheckSpace(files, target, job.Bytes() + job.CopiedBytes()));
  DCPCTL_ASSIGN(io::StagedDirectory staged, io::StagedDirectory::Make(files, target));
  DCPCTL_ASSIGN(const auto folders, MakeFolders(files, plan, staged.path()));
  DCPCTL_ASSIGN(const engine::RunOutcome copied, job.CopyInto(staged.path()));
  engine::DirectoryTarget all(files, staged.path(), plan);
  DCPCTL_ASSIGN(engine::RunOutcome outcome, job.To(all, FolderOf(target)));
  DCPCTL_TRY(all.FinishEmpty());
  outcome.bytes_read += copied.bytes_read;
  outcome.bytes_cloned += copied.bytes_cloned;
  DCPCTL_TRY(job.BeforeCommit());
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    DCPCTL_TRY(files.SyncDirectory(staged.path() / *folder));
  DCPCTL_TRY(staged.Commit(options.force));
  return outcome;
}

namespace {

// Threads that compress get half of the memory, and the rest of the engine the other.
unsigned ZstdThreads(int level, const RunOptions& options) {
  const uint64_t fit = options.memory_bytes / 2 / ZstdWriter::BytesPerThread(level);
  return static_cast<unsigned>(std::clamp<uint64_t>(fit, 1, EffectiveJobs(options.jobs)));
}

RunOptions WithHalfTheMemory(RunOptions options) {
  options.memory_bytes = std::max(options.memory_bytes / 2, kLeastMemory);
  return options;
}

Result<void> WriteWhole(io::FileSystem& files, const std::filesystem::path& path, std::string_view text) {
  DCPCTL_ASSIGN(const auto file, files.CreateTemp(path));
  DCPCTL_TRY(file->WriteAt(0, std::as_bytes(std::span(text))));
  return file->Commit(false);
}

std::vector<PlanOutput> FilesOf(const Plan& plan, std::span<const engine::ZstdTarget::Extent> extents) {
  std::vector<PlanOutput> files;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (files.empty() || files.back().path != plan.outputs[i].path) files.push_back({.path = plan.outputs[i].path});
    files.back().bytes += extents[i].length;
  }
  return files;
}

}  // namespace

Result<CompressedOutcome> WriteCompressedDirectory(io::FileSystem& files, const Plan& plan,
                                                   const std::filesystem::path& target, const RunOptions& options,
                                                   const CompressedRun& compressed) {
  const RunOptions half = WithHalfTheMemory(options);
  const PlanRun job(files, plan, half);
  DCPCTL_ASSIGN(auto writer, ZstdWriter::Make(compressed.level, ZstdThreads(compressed.level, options)));
  DCPCTL_ASSIGN(io::StagedDirectory staged, io::StagedDirectory::Make(files, target));
  engine::ZstdTarget all(files, staged.path(), plan, std::move(writer), options.stop);
  CompressedOutcome outcome;
  DCPCTL_ASSIGN(outcome.run, job.To(all, FolderOf(target)));
  DCPCTL_TRY(job.BeforeCommit());
  DCPCTL_ASSIGN(const std::string metadata, compressed.metadata(all.extents()));
  DCPCTL_TRY(WriteWhole(files, staged.path() / dcp::kMetadataName, metadata));
  DCPCTL_TRY(staged.Commit(options.force));
  outcome.files = FilesOf(plan, all.extents());
  outcome.files.push_back({.path = std::string(dcp::kMetadataName), .bytes = metadata.size()});
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
