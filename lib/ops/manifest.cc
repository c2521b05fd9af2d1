#include "ops/manifest.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/result.h"
#include "engine/scan.h"
#include "io/catalog_files.h"
#include "io/file_cache.h"
#include "ops/content.h"
#include "ops/object_digest.h"
#include "ops/selected_source.h"
#include "plan/plan_builder.h"

namespace dcpctl::ops {
namespace {

class EntryDigester {
 public:
  EntryDigester(io::FileSystem& files, const Content& content, const RunOptions& options)
      : files_(files), content_(content), options_(options) {}

  Result<std::vector<ManifestEntry>> Run() {
    for (const ContentEntry& entry : content_.entries) {
      ManifestEntry listed{.key = entry.key, .is_tensor = entry.entry.is_tensor};
      if (listed.is_tensor) {
        const Tensor& tensor = content_.catalog.tensors[entry.entry.index];
        listed.dtype = Name(tensor.dtype);
        listed.shape = tensor.shape.Copy();
        const auto elements = Numel(tensor.shape);
        const auto bytes = elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)) : std::nullopt;
        if (!bytes) return Fail(ErrorKind::kLimit, "tensor has more than 2^64 bytes");
        listed.bytes = *bytes;
      }
      entries_.push_back(std::move(listed));
    }
    DCPCTL_TRY(DigestTensors());
    DCPCTL_TRY(DigestObjects());
    return std::move(entries_);
  }

 private:
  Result<void> DigestTensors() {
    PlanBuilder builder(content_.catalog);
    std::vector<size_t> tensors;  // by region, into entries_
    std::vector<Sha256> sums;
    uint64_t offset = 0;
    for (size_t e = 0; e < entries_.size(); ++e) {
      if (!entries_[e].is_tensor) continue;
      builder.AddTensor(0, offset, content_.catalog.tensors[content_.entries[e].entry.index]);
      tensors.push_back(e);
      sums.emplace_back();
      sums.back().Add(entries_[e].dtype + " " + ToString(DimsView(entries_[e].shape)) + "\n");
      const auto end = CheckedAdd(offset, entries_[e].bytes);
      if (!end) return Fail(ErrorKind::kLimit, "tensors have more than 2^64 bytes together");
      offset = *end;
    }
    if (tensors.empty()) return {};
    builder.AddOutput("", offset);
    const std::vector<Plan> plans = [&] {
      std::vector<Plan> one;
      one.push_back(std::move(builder).Finish());
      return one;
    }();
    DCPCTL_TRY(CheckPlan(plans[0]));
    Announce(options_, "digest", offset);
    const engine::ScanInput scan{.plans = plans,
                                 .files = files_,
                                 .scratch_directory = std::filesystem::temp_directory_path(),
                                 .order = engine::ScanOrder::kInRegion,
                                 .jobs = EffectiveJobs(options_.jobs),
                                 .memory_bytes = options_.memory_bytes,
                                 .stop = options_.stop,
                                 .observer = options_.observer};
    DCPCTL_TRY(engine::ScanPlans(scan, [&](uint32_t region, uint64_t /*begin*/, auto tiles) -> Result<void> {
      sums[region].Add(tiles[0]);
      return {};
    }));
    for (size_t t = 0; t < tensors.size(); ++t) entries_[tensors[t]].digest = sums[t].Finish();
    return {};
  }

  Result<void> DigestObjects() {
    io::FileCache cache(files_, io::PathsOf(content_.catalog));
    ObjectDigests digests(cache, options_.limits);
    DCPCTL_TRY(ParallelFor(entries_.size(), options_.jobs, options_.stop, [&](uint64_t e) -> Result<void> {
      if (entries_[e].is_tensor) return {};
      const Object& object = content_.catalog.objects[content_.entries[e].entry.index];
      DCPCTL_ASSIGN(entries_[e].digest, digests.Of(object));
      return {};
    }));
    return cache.CheckUnchanged();
  }

  io::FileSystem& files_;
  const Content& content_;
  const RunOptions& options_;
  std::vector<ManifestEntry> entries_;
};

Result<Sha256Digest> DigestFile(const ByteSource& file, const std::stop_token& stop) {
  Sha256 sum;
  std::vector<std::byte> buffer(std::min<uint64_t>(file.size(), uint64_t{1} << 20));
  for (uint64_t pos = 0; pos < file.size(); pos += buffer.size()) {
    if (stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped before the end");
    const auto part = std::span(buffer).first(std::min<uint64_t>(buffer.size(), file.size() - pos));
    DCPCTL_TRY(file.ReadAt(pos, part));
    sum.Add(part);
  }
  return sum.Finish();
}

}  // namespace

Result<std::vector<ManifestEntry>> DigestEntries(io::FileSystem& files, const std::filesystem::path& path,
                                                 const Selection& selection, const RunOptions& options) {
  KeyFilter filter(selection);
  DCPCTL_ASSIGN(const Content content, OpenContent(files, path, {.run = options}, filter));
  return EntryDigester(files, content, options).Run();
}

Result<std::vector<ManifestFile>> DigestFiles(io::FileSystem& files, const Catalog& catalog,
                                              const RunOptions& options) {
  std::vector<uint32_t> wanted;
  for (uint32_t f = 0; f < catalog.files.size(); ++f) {
    if (!catalog.files[f].missing) wanted.push_back(f);
  }
  io::FileCache cache(files, io::PathsOf(catalog));
  std::vector<ManifestFile> digests(wanted.size());
  DCPCTL_TRY(ParallelFor(wanted.size(), options.jobs, options.stop, [&](uint64_t i) -> Result<void> {
    DCPCTL_ASSIGN(const auto file, cache.Open(wanted[i]));
    digests[i] = {.path = catalog.files[wanted[i]].path, .bytes = file->size()};
    DCPCTL_ASSIGN(digests[i].digest, DigestFile(*file, options.stop));
    return {};
  }));
  DCPCTL_TRY(cache.CheckUnchanged());
  std::sort(digests.begin(), digests.end(),
            [](const ManifestFile& a, const ManifestFile& b) { return a.path < b.path; });
  return digests;
}

}  // namespace dcpctl::ops
