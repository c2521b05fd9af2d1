#include "dcp/extents.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/window_source.h"
#include "base/zstd_stream.h"
#include "io/file_cache.h"
#include "pickle/policy.h"
#include "torch/archive.h"
#include "torch/object.h"
#include "torch/tensor.h"

namespace dcpctl::dcp {
namespace {

constexpr std::string_view kZstd = "stream.zstd/1";
// Headers, pickle and directory around one storage. A record that decodes to more than its tensor and this
// is not what it claims to be.
constexpr uint64_t kArchiveRoom = uint64_t{1} << 20;

// Looking at objects should take a few milliseconds, also where each is a read of its own from a file system far away.
constexpr size_t kMaxLookedAt = 128;
constexpr uint64_t kMaxLookedAtBytes = uint64_t{1} << 20;

// `name/version`; the part of the version before a dot decides.
bool IsZstd(std::string_view descriptor) {
  return descriptor == kZstd || descriptor.starts_with(std::string(kZstd) + ".");
}

class ExtentSurvey {
 public:
  ExtentSurvey(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options)
      : catalog_(catalog), options_(options), cache_(files, PathsOf(catalog)) {}

  Result<void> Run() {
    CollectWork();
    if (only_objects_ && !IsLittleWork()) return {};
    DCPCTL_TRY(ParallelFor(work_.size(), options_.jobs, options_.stop, [this](uint64_t i) { return Look(i); }));
    std::sort(damage_.begin(), damage_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [index, finding] : damage_) catalog_.findings.push_back(std::move(finding));
    return {};
  }

 private:
  struct Work {
    EntryRef entry;
    uint64_t chunk;  // of a tensor, in the catalog
  };

  static std::vector<io::CachedPath> PathsOf(const Catalog& catalog) {
    std::vector<io::CachedPath> paths;
    for (const SourceFile& file : catalog.files) {
      paths.push_back({.root = catalog.root.string(),
                       .relative = file.path,
                       .known = true,
                       .bytes = file.bytes,
                       .mtime_ns = file.mtime_ns});
    }
    return paths;
  }

  [[nodiscard]] bool IsLittleWork() const {
    uint64_t bytes = 0;
    for (const Work& work : work_) {
      bytes += std::min(catalog_.objects[work.entry.index].length, kMaxLookedAtBytes + 1);
      if (bytes > kMaxLookedAtBytes) return false;
    }
    return work_.size() <= kMaxLookedAt;
  }

  // Records that are known to be damaged are left alone, and empty boxes need no bytes.
  void CollectWork() {
    for (const EntryRef entry : catalog_.entries) {
      if (options_.wanted && !options_.wanted(catalog_.KeyOf(entry))) continue;
      if (!entry.is_tensor) {
        if (IsThere(catalog_.objects[entry.index])) work_.push_back({.entry = entry, .chunk = 0});
        continue;
      }
      if (only_objects_) continue;
      const Tensor& tensor = catalog_.tensors[entry.index];
      for (uint64_t c = tensor.first_chunk; c < tensor.first_chunk + tensor.chunk_count; ++c) {
        const Chunk& chunk = catalog_.chunks[c];
        if (IsThere(chunk) && !IsEmpty(catalog_.BoxOf(tensor, chunk))) work_.push_back({.entry = entry, .chunk = c});
      }
    }
  }

  template <typename Record>
  bool IsThere(const Record& record) const {
    return record.file != kNoFile && !catalog_.files[record.file].missing &&
           CanDecode(catalog_.transform_chains[record.transforms]) &&
           InRange(record.offset, record.length, catalog_.files[record.file].bytes);
  }

  Result<void> Look(uint64_t index) {
    const Work& work = work_[index];
    auto done = work.entry.is_tensor ? LookAtChunk(catalog_.tensors[work.entry.index], catalog_.chunks[work.chunk])
                                     : LookAtObject(catalog_.objects[work.entry.index]);
    if (done) return {};
    Error error = std::move(done).error();
    if (error.kind() == ErrorKind::kCancelled || error.kind() == ErrorKind::kInternal ||
        (error.kind() == ErrorKind::kMismatch && !only_objects_))
      return Fail(std::move(error));
    if (!only_objects_) AddDamage(index, std::move(error));
    return {};
  }

  void AddDamage(uint64_t index, Error error) {
    const Work& work = work_[index];
    if (work.entry.is_tensor) {
      error = std::move(error).In(
          "chunk " + ToString(catalog_.BoxOf(catalog_.tensors[work.entry.index], catalog_.chunks[work.chunk])));
    }
    const uint32_t file =
        work.entry.is_tensor ? catalog_.chunks[work.chunk].file : catalog_.objects[work.entry.index].file;
    const std::lock_guard lock(mutex_);
    damage_.emplace_back(index, Finding{.id = "dcp.record-damaged",
                                        .severity = Severity::kError,
                                        .file = catalog_.files[file].path,
                                        .offset = error.place().offset,
                                        .key = catalog_.KeyOf(work.entry),
                                        .message = error.Text(),
                                        .advice = error.advice()});
  }

  // Calls `look(source, base, length)` on the archive that a record is, decoded if need be.
  template <typename Record, typename Fn>
  Result<void> WithArchive(const Record& record, uint64_t max_decoded, const Fn& look) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(record.file));
    if (record.transforms == 0) {
      DCPCTL_ASSIGN(const WindowSource window, WindowSource::Read(*file, record.offset, record.length));
      return look(window, record.offset, record.length);
    }
    EdgeSource decoded(file->name(), std::max(EdgeSource::kDefaultEdgeBytes, std::min(max_decoded, kObjectEdge)));
    DCPCTL_TRY(DecodeZstd(*file, record.offset, record.length, max_decoded,
                          [&](std::span<const std::byte> bytes) -> Result<void> {
                            decoded.Append(bytes);
                            return {};
                          }));
    return look(decoded, 0, decoded.size());
  }

  Result<void> LookAtChunk(const Tensor& tensor, Chunk& chunk) {
    const auto numel = Numel(catalog_.BoxOf(tensor, chunk).sizes);
    const auto bytes = numel ? CheckedMul(*numel, ItemBytes(tensor.dtype)) : std::nullopt;
    const auto most = bytes ? CheckedAdd(*bytes, kArchiveRoom) : std::nullopt;
    if (!most) return Fail(ErrorKind::kCorrupt, "chunk has more than 2^64 bytes");
    return WithArchive(chunk, *most, [&](const ByteSource& source, uint64_t base, uint64_t length) {
      return ReadTensor(tensor, chunk, source, base, length);
    });
  }

  Result<void> ReadTensor(const Tensor& tensor, Chunk& chunk, const ByteSource& source, uint64_t base,
                          uint64_t length) {
    DCPCTL_ASSIGN(const torch::Archive archive, torch::OpenArchive(source, base, length, options_.limits));
    const torch::ArchiveStorages storages(source, archive);
    DCPCTL_ASSIGN(const torch::LocatedTensor located, torch::LocateTensor(storages, archive.document.root()));
    const DimsView sizes = catalog_.BoxOf(tensor, chunk).sizes;
    if (located.value.dtype != tensor.dtype ||
        !std::equal(sizes.begin(), sizes.end(), located.value.shape.begin(), located.value.shape.end())) {
      return Fail(Place{source.name(), chunk.offset}, ErrorKind::kCorrupt,
                  "the stored tensor is " + std::string(Name(located.value.dtype)) + " " +
                      ToString(DimsView(located.value.shape)) + ", expected " + std::string(Name(tensor.dtype)) + " " +
                      ToString(sizes));
    }
    chunk.stored = located.stored;
    if (chunk.transforms != 0) {
      if (chunk.stored.codec != Codec::kNone)
        return Fail(ErrorKind::kUnsupported, "a compressed record in a compressed item");
      chunk.stored.codec = Codec::kZstd;
    }
    std::copy(located.value.strides.begin(), located.value.strides.end(),
              catalog_.dims.begin() + static_cast<std::ptrdiff_t>(chunk.dims + 2 * tensor.shape.size()));
    chunk.surveyed = true;
    return {};
  }

  static Result<void> PutIntoRecord(const Object& object, ObjectStorage& storage) {
    storage.file = object.file;
    storage.record_offset = object.offset;
    storage.record_length = object.length;
    if (object.transforms == 0) return {};
    if (storage.stored.codec != Codec::kNone)
      return Fail(ErrorKind::kUnsupported, "a compressed record in a compressed item");
    storage.stored.codec = Codec::kZstd;
    return {};
  }

  Result<void> LookAtObject(Object& object) {
    return WithArchive(
        object, only_objects_ ? kMaxLookedAtBytes : options_.limits.object_bytes,
        [&](const ByteSource& source, uint64_t base, uint64_t length) -> Result<void> {
          DCPCTL_ASSIGN(const torch::Archive archive, torch::OpenArchive(source, base, length, options_.limits));
          // Who only looks may look at anything; what is carried on is checked.
          if (!only_objects_) DCPCTL_TRY(pickle::CheckGlobals(archive.document, source.name(), options_.allow_globals));
          const torch::ArchiveStorages storages(source, archive);
          DCPCTL_ASSIGN(const auto value, torch::CopyObject(storages, archive.document.root(), options_.limits));
          for (ObjectStorage& storage : value->storages) DCPCTL_TRY(PutIntoRecord(object, storage));
          object.value = value;
          return {};
        });
  }

  static constexpr uint64_t kObjectEdge = uint64_t{64} << 20;

  Catalog& catalog_;
  const SurveyOptions& options_;
  const bool only_objects_ = options_.depth == SurveyDepth::kObjects;
  io::FileCache cache_;
  std::vector<Work> work_;
  std::mutex mutex_;  // guards damage_
  std::vector<std::pair<uint64_t, Finding>> damage_;
};

}  // namespace

bool CanDecode(const std::vector<std::string>& transforms) {
  return transforms.empty() || (transforms.size() == 1 && IsZstd(transforms[0]));
}

Result<void> SurveyExtents(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options) {
  return ExtentSurvey(files, catalog, options).Run();
}

}  // namespace dcpctl::dcp
