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
#include "base/zstd_frames.h"
#include "dcp/decoded_record.h"
#include "dcp/naming.h"
#include "dcp/record_bounds.h"
#include "io/catalog_files.h"
#include "io/file_cache.h"
#include "pickle/policy.h"
#include "torch/archive.h"
#include "torch/object.h"
#include "torch/tensor.h"

namespace dcpctl::dcp {
namespace {

// Headers, pickle and directory around one storage. A record that decodes to more than its tensor and this
// is not what it claims to be.
constexpr uint64_t kArchiveRoom = uint64_t{1} << 20;

// Looking at objects should take a few milliseconds, also where each is a read of its own from a file system far away.
constexpr size_t kMaxLookedAt = 128;
constexpr uint64_t kMaxLookedAtBytes = uint64_t{1} << 20;

// `name/version`; the part of the version before a dot decides.
bool IsZstd(std::string_view descriptor) {
  return descriptor == kZstdTransform || descriptor.starts_with(std::string(kZstdTransform) + ".");
}

class ExtentSurvey {
 public:
  ExtentSurvey(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options, const RecordHooks& hooks)
      : catalog_(catalog), options_(options), hooks_(hooks), cache_(files, io::PathsOf(catalog)) {}

  Result<void> Run() {
    CollectWork();
    if (only_objects_ && !IsLittleWork()) return {};
    DCPCTL_TRY(CheckBounds());
    DCPCTL_TRY(ParallelFor(work_.size(), options_.jobs, options_.stop, [this](uint64_t i) { return Look(i); }));
    DCPCTL_TRY(bounds_.CheckDecoded());
    std::sort(damage_.begin(), damage_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [index, finding] : damage_) catalog_.findings.push_back(std::move(finding));
    return {};
  }

 private:
  struct Work {
    EntryRef entry;
    uint64_t chunk;  // of a tensor, in the catalog
  };

  [[nodiscard]] bool IsLittleWork() const {
    uint64_t bytes = 0;
    for (const Work& work : work_) {
      bytes += std::min(catalog_.objects[work.entry.index].length, kMaxLookedAtBytes + 1);
      if (bytes > kMaxLookedAtBytes) return false;
    }
    return work_.size() <= kMaxLookedAt;
  }

  [[nodiscard]] uint32_t FileOf(const Work& work) const {
    return work.entry.is_tensor ? catalog_.chunks[work.chunk].file : catalog_.objects[work.entry.index].file;
  }
  [[nodiscard]] uint64_t LengthOf(const Work& work) const {
    return work.entry.is_tensor ? catalog_.chunks[work.chunk].length : catalog_.objects[work.entry.index].length;
  }

  [[nodiscard]] bool IsCompressed(const Work& work) const {
    return (work.entry.is_tensor ? catalog_.chunks[work.chunk].transforms
                                 : catalog_.objects[work.entry.index].transforms) != 0;
  }

  Result<void> CheckBounds() {
    for (const Work& work : work_)
      DCPCTL_TRY(bounds_.Add(FileOf(work), LengthOf(work), IsCompressed(work), !work.entry.is_tensor));
    return {};
  }

  // Records that are known to be damaged are left alone. Empty boxes need no bytes, and are opened for hooks alone.
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
        const bool needed = hooks_.on_archive || !IsEmpty(catalog_.BoxOf(tensor, chunk));
        if (needed && IsThere(chunk)) work_.push_back({.entry = entry, .chunk = c});
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
    if (bounds_.IsExceeded()) return {};
    const bool is_tensor = work_[index].entry.is_tensor;
    auto done = is_tensor ? LookAtChunk(index) : LookAtObject(index);
    if (done) return {};
    Error error = std::move(done).error();
    if (error.kind() == ErrorKind::kCancelled || error.kind() == ErrorKind::kInternal ||
        (error.kind() == ErrorKind::kMismatch && !only_objects_))
      return Fail(std::move(error));
    const bool unsupported = error.kind() == ErrorKind::kUnsupported;
    if (!only_objects_) AddDamage(index, unsupported ? "dcp.record-unsupported" : "dcp.record-damaged", error);
    return {};
  }

  void AddDamage(uint64_t index, const char* id, Error error) {
    const Work& work = work_[index];
    if (work.entry.is_tensor) {
      error = std::move(error).In(
          "chunk " + ToString(catalog_.BoxOf(catalog_.tensors[work.entry.index], catalog_.chunks[work.chunk])));
    }
    const uint32_t file = FileOf(work);
    const std::lock_guard lock(mutex_);
    damage_.emplace_back(index, Finding{.id = id,
                                        .severity = Severity::kError,
                                        .file = catalog_.files[file].path,
                                        .offset = error.place().offset,
                                        .key = std::string(catalog_.KeyOf(work.entry)),
                                        .message = error.Text(),
                                        .advice = error.advice()});
  }

  // Calls `look(source, archive)` on the archive that a record is, decoded if need be.
  template <typename Record, typename Fn>
  Result<void> WithArchive(uint64_t index, const Record& record, uint64_t max_decoded, const Fn& look) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(record.file));
    if (record.transforms == 0) {
      DCPCTL_ASSIGN(const WindowSource window, WindowSource::Read(*file, record.offset, record.length));
      DCPCTL_ASSIGN(const torch::Archive archive,
                    torch::OpenArchive(window, record.offset, record.length, options_.limits));
      return LookInto(index, record, window, archive, look);
    }
    if (!hooks_.decode) return CheckZstdFrames(*file, record.offset, record.length);
    DecodedRecord decoded(*file, record.offset, record.length);
    DCPCTL_TRY(Decode(decoded, max_decoded, work_[index].entry.is_tensor));
    auto archive = OpenDecoded(decoded, EdgeSource::kDefaultEdgeBytes);
    if (!archive && archive.error().kind() == ErrorKind::kLimit) {  // perhaps only of what is held
      const uint64_t pickle_bytes = options_.limits.PickleBytesFrom(record.length);
      DCPCTL_TRY(decoded.Decode(max_decoded, std::min(kMostEdge, pickle_bytes + EdgeSource::kDefaultEdgeBytes)));
      archive = OpenDecoded(decoded, pickle_bytes);
    }
    if (!archive) return Fail(std::move(archive).error());
    DCPCTL_TRY(decoded.HoldHeaders(archive->directory));
    return LookInto(index, record, decoded, *archive, look);
  }

  Result<void> Decode(DecodedRecord& decoded, uint64_t max_decoded, bool is_tensor) {
    auto done = decoded.Decode(max_decoded);
    if (!is_tensor) bounds_.AddDecoded(decoded.size());
    return done;
  }

  [[nodiscard]] Result<torch::Archive> OpenDecoded(const DecodedRecord& decoded, uint64_t pickle_bytes) const {
    Limits limits = options_.limits;
    limits.pickle_bytes = std::min(limits.pickle_bytes, pickle_bytes);
    return torch::OpenArchive(decoded, 0, decoded.size(), limits);
  }

  template <typename Record, typename Fn>
  Result<void> LookInto(uint64_t index, const Record& record, const ByteSource& source, const torch::Archive& archive,
                        const Fn& look) {
    const bool checked = static_cast<bool>(hooks_.on_archive);
    if (checked) {
      hooks_.on_archive(work_[index].entry, record.file, source, archive.directory, record.transforms != 0);
    }
    // Conversions carry objects on, and take of the pickle of a tensor only the tensor; who checks wants to know all.
    // Who only looks may look at anything.
    const bool is_carried_on = !work_[index].entry.is_tensor && !only_objects_;
    if (checked || is_carried_on) {
      auto names = pickle::CheckGlobals(archive.document, source.name(), options_.allow_globals);
      if (!names) {
        AddDamage(index, "dcp.refused-name", std::move(names).error());
        return {};
      }
    }
    return look(source, archive);
  }

  Result<void> LookAtChunk(uint64_t index) {
    const Work& work = work_[index];
    const Tensor& tensor = catalog_.tensors[work.entry.index];
    const Chunk& chunk = catalog_.chunks[work.chunk];
    const auto numel = Numel(catalog_.BoxOf(tensor, chunk).sizes);
    const auto bytes = numel ? CheckedMul(*numel, ItemBytes(tensor.dtype)) : std::nullopt;
    const auto most = bytes ? CheckedAdd(*bytes, kArchiveRoom) : std::nullopt;
    if (!most) return Fail(ErrorKind::kCorrupt, "chunk has more than 2^64 bytes");
    return WithArchive(index, chunk, *most, [&](const ByteSource& source, const torch::Archive& archive) {
      if (!MayBeTensor(index, archive, source)) return Result<void>();
      return numel == uint64_t{0} ? ReadEmpty(index, source, archive) : ReadTensor(index, source, archive);
    });
  }

  // What another package made may well be a tensor; a number or a list is none.
  bool MayBeTensor(uint64_t index, const torch::Archive& archive, const ByteSource& source) {
    const pickle::Value root = archive.document.root();
    if (root.Is(pickle::Kind::kObject)) return true;
    AddDamage(index, "dcp.record-differs",
              Error(ErrorKind::kCorrupt, Place{source.name(), catalog_.chunks[work_[index].chunk].offset},
                    "the stored value is of type " + pickle::TypeName(root) + ", expected a tensor"));
    return false;
  }

  // Whether the stored tensor is the one that the metadata promises; if not, that is a finding.
  bool Agrees(uint64_t index, const torch::TensorValue& value, const ByteSource& source) {
    const Tensor& tensor = catalog_.tensors[work_[index].entry.index];
    const Chunk& chunk = catalog_.chunks[work_[index].chunk];
    const DimsView sizes = catalog_.BoxOf(tensor, chunk).sizes;
    const bool agrees =
        value.dtype == tensor.dtype && std::equal(sizes.begin(), sizes.end(), value.shape.begin(), value.shape.end());
    if (agrees) return true;
    AddDamage(index, "dcp.record-differs",
              Error(ErrorKind::kCorrupt, Place{source.name(), chunk.offset},
                    "the stored tensor is " + std::string(Name(value.dtype)) + " " + ToString(DimsView(value.shape)) +
                        ", expected " + std::string(Name(tensor.dtype)) + " " + ToString(sizes)));
    return false;
  }

  // Its storage may be missing, and nobody asks for it.
  Result<void> ReadEmpty(uint64_t index, const ByteSource& source, const torch::Archive& archive) {
    DCPCTL_ASSIGN(const torch::TensorValue value, torch::ReadPlainTensor(archive.document.root(), source.name()));
    Agrees(index, value, source);
    return {};
  }

  Result<void> ReadTensor(uint64_t index, const ByteSource& source, const torch::Archive& archive) {
    const Tensor& tensor = catalog_.tensors[work_[index].entry.index];
    Chunk& chunk = catalog_.chunks[work_[index].chunk];
    const torch::ArchiveStorages storages(source, archive);
    DCPCTL_ASSIGN(const torch::LocatedTensor located, torch::LocateTensor(storages, archive.document.root()));
    if (!Agrees(index, located.value, source)) return {};
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

  Result<void> LookAtObject(uint64_t index) {
    const Work& work = work_[index];
    Object& object = catalog_.objects[work.entry.index];
    return WithArchive(
        index, object, only_objects_ ? kMaxLookedAtBytes : options_.limits.ObjectBytesFrom(object.length),
        [&](const ByteSource& source, const torch::Archive& archive) -> Result<void> {
          const torch::ArchiveStorages storages(source, archive);
          DCPCTL_ASSIGN(const auto value, torch::CopyObject(storages, archive.document.root(), options_.limits));
          for (ObjectStorage& storage : value->storages) DCPCTL_TRY(PutIntoRecord(object, storage));
          object.value = value;
          return {};
        });
  }

  // Of what a compressed record decodes to, at either end.
  static constexpr uint64_t kMostEdge = uint64_t{64} << 20;

  Catalog& catalog_;
  const SurveyOptions& options_;
  const RecordHooks& hooks_;
  const bool only_objects_ = options_.depth == SurveyDepth::kObjects;
  io::FileCache cache_;
  std::vector<Work> work_;
  RecordBounds bounds_{catalog_, options_.limits};
  std::mutex mutex_;  // guards damage_
  std::vector<std::pair<uint64_t, Finding>> damage_;
};

}  // namespace

bool CanDecode(const std::vector<std::string>& transforms) {
  return transforms.empty() || (transforms.size() == 1 && IsZstd(transforms[0]));
}

Result<void> SurveyExtents(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options,
                           const RecordHooks& hooks) {
  return ExtentSurvey(files, catalog, options, hooks).Run();
}

}  // namespace dcpctl::dcp
