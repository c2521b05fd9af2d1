#include "ops/write_compressed.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/result.h"
#include "base/zstd_writer.h"
#include "dcp/naming.h"
#include "io/staged_directory.h"
#include "ops/write.h"
#include "plan/schedule.h"

namespace dcpctl::ops {
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

}  // namespace

Result<CompressedRun> FillCompressed(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory,
                                     const std::filesystem::path& scratch, const RunOptions& options, int level) {
  DCPCTL_ASSIGN(auto writer, ZstdWriter::Make(level, ZstdThreads(level, options)));
  engine::ZstdTarget all(files, directory, plan, std::move(writer), options.stop);
  CompressedRun filled;
  DCPCTL_ASSIGN(filled.run, RunInto(all, files, plan, scratch, WithHalfTheMemory(options)));
  filled.extents = all.extents();
  return filled;
}

Result<void> WriteMetadata(io::FileSystem& files, const std::filesystem::path& directory, std::string_view metadata) {
  DCPCTL_ASSIGN(const auto file, files.CreateTemp(directory / dcp::kMetadataName));
  DCPCTL_TRY(file->WriteAt(0, std::as_bytes(std::span(metadata))));
  return file->Commit(false);
}

std::vector<PlanOutput> FilesOf(const Plan& plan, std::span<const OutputExtent> extents, uint64_t metadata_bytes) {
  std::vector<PlanOutput> files;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (files.empty() || files.back().path != plan.outputs[i].path) files.push_back({.path = plan.outputs[i].path});
    files.back().bytes += extents[i].length;
  }
  files.push_back({.path = std::string(dcp::kMetadataName), .bytes = metadata_bytes});
  return files;
}

Result<CompressedOutcome> WriteCompressedDirectory(io::FileSystem& files, const Plan& plan,
                                                   const std::filesystem::path& target, const RunOptions& options,
                                                   const Compression& compression, Findings& findings) {
  DCPCTL_ASSIGN(io::StagedDirectory staged, io::StagedDirectory::Make(files, target));
  DCPCTL_ASSIGN(const CompressedRun filled,
                FillCompressed(files, plan, staged.path(), FolderOf(target), options, compression.level));
  DCPCTL_ASSIGN(const std::string metadata, compression.metadata(filled.extents));
  DCPCTL_TRY(WriteMetadata(files, staged.path(), metadata));
  DCPCTL_TRY(Publish(staged, options, findings));
  return CompressedOutcome{.run = filled.run, .files = FilesOf(plan, filled.extents, metadata.size())};
}

void RecordFiles(std::vector<PlanOutput> written, PlanSummary& summary) {
  summary.outputs = std::move(written);
  summary.bytes_written = 0;
  for (const PlanOutput& output : summary.outputs) summary.bytes_written += output.bytes;
}

}  // namespace dcpctl::ops
