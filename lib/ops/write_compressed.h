// As write.h, for outputs that are compressed, each on its own, and then joined into files: see engine::ZstdTarget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/convert.h"
#include "dcpctl/plan.h"
#include "engine/runner.h"
#include "engine/zstd_target.h"
#include "io/file_system.h"

namespace dcpctl::ops {

// Where an output lies in its file.
using OutputExtent = engine::ZstdTarget::Extent;

struct Compression {
  int level = 0;
  // Makes `.metadata` once it is known where the outputs lie.
  std::function<Result<std::string>(std::span<const OutputExtent>)> metadata;
};

struct CompressedOutcome {
  engine::RunOutcome run;
  std::vector<PlanOutput> files;  // as long as they have become
};

// Writes the outputs of `plan`, named relative to it, to the new directory `target`.
Result<CompressedOutcome> WriteCompressedDirectory(io::FileSystem& files, const Plan& plan,
                                                   const std::filesystem::path& target, const RunOptions& options,
                                                   const Compression& compression, Findings& findings);

struct CompressedRun {
  engine::RunOutcome run;
  std::vector<OutputExtent> extents;  // by output
};

// The steps of that, for who takes them together with others. Writes the outputs into `directory` and syncs them.
Result<CompressedRun> FillCompressed(io::FileSystem& files, const Plan& plan, const std::filesystem::path& directory,
                                     const std::filesystem::path& scratch, const RunOptions& options, int level);
// Puts the metadata beside them.
Result<void> WriteMetadata(io::FileSystem& files, const std::filesystem::path& directory, std::string_view metadata);
// What then lies in the directory.
std::vector<PlanOutput> FilesOf(const Plan& plan, std::span<const OutputExtent> extents, uint64_t metadata_bytes);

// Puts it into a summary, which has the files as they were before.
void RecordFiles(std::vector<PlanOutput> written, PlanSummary& summary);

}  // namespace dcpctl::ops
