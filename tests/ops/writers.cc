#include "tests/ops/writers.h"

#include <utility>

#include "base/result.h"
#include "dcp/sample_checkpoint.h"
#include "ops/repair.h"
#include "ops/to_dcp.h"
#include "ops/to_torch.h"
#include "ops/verify.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::MemoryFileSystem;
using test::Value;

ConvertOptions OneJob(bool force) {
  ConvertOptions options;
  options.run.jobs = 1;
  options.run.memory_bytes = uint64_t{4} << 20;  // made anew for every run
  options.run.force = force;
  return options;
}

template <typename T>
Result<void> Outcome(Result<T> result) {
  if (!result) return Fail(std::move(result).error());
  return {};
}

Result<void> Dcp(io::FileSystem& files, const std::string& source, const ConvertOptions& options) {
  return Outcome(ToDcp(files, source, kWritten, options));
}

Result<void> ReshardFor(io::FileSystem& files, uint64_t ranks, std::optional<int> level, bool force) {
  ConvertOptions options = OneJob(force);
  options.layout.world_size = ranks;
  options.zstd_level = level;
  return Dcp(files, "/ckpt", options);
}

Result<void> ConvertWith(io::FileSystem& files, DataPolicy data, bool force) {
  ConvertOptions options = OneJob(force);
  options.data = data;
  return Dcp(files, "/ckpt", options);
}

Result<void> WriteManifest(io::FileSystem& files, bool force) {
  VerifyOptions options;
  options.run = OneJob(force).run;
  options.manifest = kWritten;
  options.settle_ms = 0;
  DCPCTL_ASSIGN(const VerifyReport report, Verify(files, "/ckpt", options));
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::kError)
      return Fail(Place{"/ckpt/" + finding.file, finding.offset}, ErrorKind::kCorrupt, finding.message);
  }
  return {};
}

Result<void> RepairLost(io::FileSystem& files) {
  return Outcome(Repair(files, "/lost", "/ckpt", {.output = kWritten, .run = OneJob(false).run}));
}

bool IsAt(const std::string& file, const std::string& path) { return file == path || file.starts_with(path + "/"); }

}  // namespace

const std::vector<Writer>& Writers() {
  using Files = io::FileSystem;
  static const std::vector<std::string> kCkpt = {"/ckpt/.metadata", "/ckpt/__0_0.distcp", "/ckpt/sub/__1_0.distcp"};
  static const std::vector<std::string> kLost = {"/lost/__0_0.distcp", "/lost/sub/__1_0.distcp"};
  static const std::vector<Writer> kWriters = {
      {"ToTorch", false, true, kCkpt,
       [](Files& files, bool force) { return Outcome(ToTorch(files, "/ckpt", kWritten, OneJob(force))); }},
      {"ToDcp",
       true,
       true,
       {"/model.pt"},
       [](Files& files, bool force) { return Dcp(files, "/model.pt", OneJob(force)); }},
      {"Reshard", true, true, kCkpt, [](Files& files, bool force) { return ReshardFor(files, 2, {}, force); }},
      {"ReshardZstd", true, true, kCkpt, [](Files& files, bool force) { return ReshardFor(files, 2, 1, force); }},
      {"Rewrite", true, true, kCkpt,
       [](Files& files, bool force) { return ConvertWith(files, DataPolicy::kRewrite, force); }},
      {"Copy", true, true, kCkpt,
       [](Files& files, bool force) { return ConvertWith(files, DataPolicy::kCopy, force); }},
      {"Link", true, true, kCkpt,
       [](Files& files, bool force) { return ConvertWith(files, DataPolicy::kLink, force); }},
      {"MetadataOnly", false, true, kCkpt,
       [](Files& files, bool force) { return ConvertWith(files, DataPolicy::kNone, force); }},
      {"Repair", false, false, kLost, [](Files& files, bool) { return RepairLost(files); }},
      {"Manifest", false, true, kCkpt, [](Files& files, bool force) { return WriteManifest(files, force); }},
  };
  return kWriters;
}

Tree MakeSources(float first) {
  dcp::SampleCheckpoint sample;
  sample.AddTensor(
      "w", {"w"}, {64, 16}, first,
      {{.offsets = {0, 0}, .sizes = {32, 16}}, {.offsets = {32, 0}, .sizes = {32, 16}, .file = "sub/__1_0.distcp"}});
  sample.AddInt("step", {"step"}, 7);
  Tree sources;
  for (const auto& [name, bytes] : sample.Finish()) {
    sources["/ckpt/" + name] = bytes;
    if (name != ".metadata") sources["/lost/" + name] = bytes;
  }
  MemoryFileSystem files;
  for (const auto& [path, bytes] : sources) files.Put(path, bytes);
  Value(ToTorch(files, "/ckpt", "/model.pt", OneJob(false)));
  sources["/model.pt"] = files.Contents("/model.pt").value();
  return sources;
}

std::unique_ptr<MemoryFileSystem> NewFiles(const Writer& writer, const Tree& sources, bool replaces) {
  auto files = std::make_unique<MemoryFileSystem>();
  for (const auto& [path, bytes] : sources) files->Put(path, bytes);
  files->PutDirectory("/out");
  if (replaces && writer.makes_folder) {
    files->Put(std::string(kWritten) + "/.metadata", "old");
    files->Put(std::string(kWritten) + "/__9_0.distcp", "old");
  } else if (replaces) {
    files->Put(kWritten, "old");
  }
  files->SetFaults({});
  return files;
}

Tree TreeOf(MemoryFileSystem& files, const std::string& path) {
  Tree tree;
  for (const std::string& file : files.Paths()) {
    if (IsAt(file, path)) tree[file] = files.Contents(file).value();
  }
  return tree;
}

std::vector<std::string> LeftOver(MemoryFileSystem& files) {
  std::vector<std::string> names;
  for (const auto& entry : Value(files.ListDirectory("/out", {}))) {
    if (entry.name != "new") names.push_back(entry.name);
  }
  return names;
}

}  // namespace dcpctl::ops
