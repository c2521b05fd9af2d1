#include "check/payload.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/crc32.h"
#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "engine/buffer_pool.h"
#include "engine/storage_stream.h"
#include "io/catalog_files.h"
#include "io/file_cache.h"

namespace dcpctl::check {
namespace {

// What one thread reads before another may go on with the same storage.
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;
constexpr uint64_t kMostBuffer = uint64_t{1} << 20;
constexpr uint64_t kLeastBuffer = uint64_t{64} << 10;

constexpr int64_t kNoEntry = -1;

// A storage as one entry has it.
struct Use {
  uint32_t file;
  int64_t entry;
  const StoredTensor* stored;
  uint64_t record_offset;
  uint64_t record_length;

  [[nodiscard]] bool IsInRecord() const { return stored->codec == Codec::kZstd; }
  // Equal for storages of one compressed record.
  [[nodiscard]] auto Record() const {
    return std::tuple(file, IsInRecord(), IsInRecord() ? record_offset : 0, IsInRecord() ? record_length : 0);
  }
  // Equal for the same bytes.
  [[nodiscard]] auto Place() const { return std::tuple_cat(Record(), std::tuple(stored->offset, stored->bytes)); }
};

std::vector<Use> CollectUses(const Catalog& catalog, const std::vector<bool>& selected,
                             std::span<const LooseRecord> loose) {
  std::vector<Use> uses;
  const auto add = [&](const Use& use) {
    if (use.stored->bytes > 0) uses.push_back(use);
  };
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i]) continue;
    const EntryRef entry = catalog.entries[i];
    const auto index = static_cast<int64_t>(i);
    if (entry.is_tensor) {
      for (const Chunk& chunk : catalog.ChunksOf(catalog.tensors[entry.index])) {
        if (chunk.surveyed) add({chunk.file, index, &chunk.stored, chunk.offset, chunk.length});
      }
    } else if (const Object& object = catalog.objects[entry.index]; object.value) {
      for (const ObjectStorage& storage : object.value->storages)
        add({storage.file, index, &storage.stored, storage.record_offset, storage.record_length});
    }
  }
  for (const LooseRecord& record : loose) add({record.file, record.entry, &record.stored, 0, 0});
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.Place() < b.Place(); });
  return uses;
}

// A storage to be read, and the uses of it: uses[first] to uses[last - 1].
struct Storage {
  size_t first;
  size_t last;
  std::optional<Error> error = std::nullopt;
};

// Bytes [begin, begin + length) of a plain storage; all of one that is encoded.
struct Piece {
  size_t storage;
  uint64_t begin;
  uint64_t length;
  uint32_t crc = 0;
};

// What a thread takes at a time, pieces[first] to pieces[last - 1]: one, or all those of a compressed record.
struct Task {
  size_t first;
  size_t last;
  uint64_t bytes;  // of the file
};

class PayloadCheck {
 public:
  PayloadCheck(io::FileSystem& files, const Catalog& catalog, const RunOptions& options)
      : catalog_(catalog),
        options_(options),
        jobs_(static_cast<unsigned>(
            std::clamp<uint64_t>(options.memory_bytes / kLeastBuffer, 1, EffectiveJobs(options.jobs)))),
        cache_(files, io::PathsOf(catalog)),
        buffers_(jobs_, std::clamp(options.memory_bytes / jobs_, kLeastBuffer, kMostBuffer)) {}

  Result<ChecksumTotals> Run(std::vector<Use> uses, Findings& findings) {
    uses_ = std::move(uses);
    SplitIntoPieces();
    if (options_.observer != nullptr) options_.observer->OnStage("check", totals_.bytes);
    DCPCTL_TRY(ParallelFor(tasks_.size(), jobs_, options_.stop, [this](uint64_t i) { return Read(tasks_[i]); }));
    Compare(findings);
    return totals_;
  }

 private:
  static engine::EncodedStorage Encoded(const Use& use) {
    return {.stored = *use.stored, .record_offset = use.record_offset, .record_length = use.record_length};
  }

  void SplitIntoPieces() {
    for (size_t first = 0; first < uses_.size();) {
      size_t last = first + 1;
      while (last < uses_.size() && uses_[last].Place() == uses_[first].Place()) ++last;
      const Use& use = uses_[first];
      totals_.unknown += use.stored->crc_known ? 0 : 1;
      const uint64_t step = use.stored->codec == Codec::kNone ? kPieceBytes : use.stored->bytes;
      for (uint64_t begin = 0; begin < use.stored->bytes; begin += step) {
        AddPiece({.storage = storages_.size(), .begin = begin, .length = std::min(step, use.stored->bytes - begin)},
                 use, first > 0 && use.IsInRecord() && use.Record() == uses_[first - 1].Record());
      }
      storages_.push_back({.first = first, .last = last});
      first = last;
    }
    totals_.records = storages_.size();
  }

  void AddPiece(const Piece& piece, const Use& use, bool goes_on) {
    pieces_.push_back(piece);
    if (goes_on) {
      tasks_.back().last = pieces_.size();
      return;
    }
    const uint64_t bytes = use.stored->codec == Codec::kNone ? piece.length : engine::EncodedBytes(Encoded(use));
    tasks_.push_back({.first = pieces_.size() - 1, .last = pieces_.size(), .bytes = bytes});
    totals_.bytes += bytes;
  }

  Result<void> Read(const Task& task) {
    const auto pieces = std::span(pieces_).subspan(task.first, task.last - task.first);
    if (auto read = Digest(pieces); !read) {
      const ErrorKind kind = read.error().kind();
      if (kind == ErrorKind::kCancelled || kind == ErrorKind::kMismatch || kind == ErrorKind::kInternal)
        return Fail(std::move(read).error());
      const std::lock_guard lock(mutex_);
      for (const Piece& piece : pieces) {
        std::optional<Error>& error = storages_[piece.storage].error;
        if (!error) error = read.error();
      }
    }
    if (options_.observer == nullptr) return {};
    const std::lock_guard lock(mutex_);
    options_.observer->OnBytes(task.bytes);
    return {};
  }

  [[nodiscard]] const Use& UseOf(const Piece& piece) const { return uses_[storages_[piece.storage].first]; }

  Result<void> Digest(std::span<Piece> pieces) {
    const Use& use = UseOf(pieces[0]);
    DCPCTL_ASSIGN(const auto file, cache_.Open(use.file));
    switch (use.stored->codec) {
      case Codec::kNone: break;
      case Codec::kZstd: return DigestRecord(*file, use, pieces);
      case Codec::kDeflate: {
        DCPCTL_ASSIGN(pieces[0].crc, engine::DigestStorage(*file, Encoded(use)));
        return {};
      }
    }
    return DigestPlain(*file, *use.stored, pieces[0]);
  }

  Result<void> DigestRecord(const ByteSource& file, const Use& use, std::span<Piece> pieces) {
    std::vector<engine::DecodedRange> ranges;
    for (const Piece& piece : pieces) ranges.push_back(engine::RangeOf(*UseOf(piece).stored));
    return engine::StreamRecord(file, use.record_offset, use.record_length, ranges,
                                [&](size_t i, std::span<const std::byte> bytes) -> Result<void> {
                                  DCPCTL_TRY(NotStopped());
                                  pieces[i].crc = Crc32(bytes, pieces[i].crc);
                                  return {};
                                });
  }

  Result<void> DigestPlain(const ByteSource& file, const StoredTensor& stored, Piece& piece) {
    const engine::BufferPool::Lease buffer = buffers_.Take();
    for (uint64_t done = 0; done < piece.length;) {
      DCPCTL_TRY(NotStopped());
      const auto part = buffer.bytes().first(std::min<uint64_t>(buffer.bytes().size(), piece.length - done));
      DCPCTL_TRY(file.ReadAt(stored.offset + piece.begin + done, part));
      piece.crc = Crc32(part, piece.crc);
      done += part.size();
    }
    return {};
  }

  [[nodiscard]] Result<void> NotStopped() const {
    if (options_.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped before the end");
    return {};
  }

  void Compare(Findings& findings) {
    size_t next = 0;
    for (size_t s = 0; s < storages_.size(); ++s) {
      uint32_t crc = 0;
      for (; next < pieces_.size() && pieces_[next].storage == s; ++next) {
        crc = pieces_[next].begin == 0 ? pieces_[next].crc : Crc32Combine(crc, pieces_[next].crc, pieces_[next].length);
      }
      const StoredTensor& stored = *uses_[storages_[s].first].stored;
      const bool bad = storages_[s].error.has_value() || (stored.crc_known && crc != stored.crc);
      if (bad) Report(storages_[s], crc);
    }
    // In the order of the entries, as they are read by people.
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [entry, finding] : found_) findings.push_back(std::move(finding));
  }

  // A loose record is told only if no entry was.
  void Report(const Storage& storage, uint32_t crc) {
    for (size_t u = storage.first; u < storage.last; ++u) {
      const Use& use = uses_[u];
      const bool told = u > storage.first && (use.entry == kNoEntry || use.entry == uses_[u - 1].entry);
      if (!told) found_.emplace_back(use.entry, Describe(use, storage.error, crc));
    }
  }

  Finding Describe(const Use& use, const std::optional<Error>& error, uint32_t crc) const {
    const StoredTensor& stored = *use.stored;
    return {.id = error ? "payload.unreadable" : "payload.crc",
            .severity = Severity::kError,
            .file = catalog_.files[use.file].path,
            .offset = stored.codec == Codec::kZstd ? use.record_offset : stored.offset,
            .key = use.entry == kNoEntry
                       ? std::string()
                       : std::string(catalog_.KeyOf(catalog_.entries[static_cast<size_t>(use.entry)])),
            .message = error ? error->Text()
                             : "CRC-32 of the storage is " + Hex(crc, 8) + ", expected " + Hex(stored.crc, 8) +
                                   " as its writer recorded it"};
  }

  const Catalog& catalog_;
  const RunOptions& options_;
  const unsigned jobs_;
  io::FileCache cache_;
  engine::BufferPool buffers_;
  std::vector<Use> uses_;
  std::vector<Storage> storages_;
  std::vector<Piece> pieces_;  // by storage, from front to back
  std::vector<Task> tasks_;
  std::mutex mutex_;  // guards the errors of storages_ and the observer
  std::vector<std::pair<int64_t, Finding>> found_;
  ChecksumTotals totals_;
};

}  // namespace

Result<ChecksumTotals> CheckPayloads(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                                     const RunOptions& options, Findings& findings,
                                     std::span<const LooseRecord> loose) {
  return PayloadCheck(files, catalog, options).Run(CollectUses(catalog, selected, loose), findings);
}

}  // namespace dcpctl::check
