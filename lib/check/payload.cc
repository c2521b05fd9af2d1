#include "check/payload.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "engine/storage_stream.h"
#include "io/file_cache.h"

namespace dcpctl::check {
namespace {

struct Storage {
  std::string key;
  uint32_t file;
  engine::EncodedStorage encoded;
};

std::vector<Storage> Collect(const Catalog& catalog, const std::vector<bool>& selected) {
  std::vector<Storage> storages;
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    if (!selected[i]) continue;
    const EntryRef entry = catalog.entries[i];
    if (entry.is_tensor) {
      for (const Chunk& chunk : catalog.ChunksOf(catalog.tensors[entry.index])) {
        if (!chunk.surveyed) continue;
        storages.push_back(
            {.key = catalog.KeyOf(entry),
             .file = chunk.file,
             .encoded = {.stored = chunk.stored, .record_offset = chunk.offset, .record_length = chunk.length}});
      }
    } else if (const Object& object = catalog.objects[entry.index]; object.value) {
      for (const ObjectStorage& storage : object.value->storages)
        storages.push_back({.key = object.key,
                            .file = storage.file,
                            .encoded = {.stored = storage.stored,
                                        .record_offset = storage.record_offset,
                                        .record_length = storage.record_length}});
    }
  }
  return storages;
}

}  // namespace

Result<void> CheckPayloads(io::FileSystem& files, const Catalog& catalog, const std::vector<bool>& selected,
                           const RunOptions& options, Findings& findings) {
  std::vector<io::CachedPath> paths;
  for (const SourceFile& file : catalog.files)
    paths.push_back({.root = catalog.root.string(),
                     .relative = file.path,
                     .known = true,
                     .bytes = file.bytes,
                     .mtime_ns = file.mtime_ns});
  io::FileCache cache(files, std::move(paths));
  const std::vector<Storage> storages = Collect(catalog, selected);
  std::vector<std::optional<Finding>> found(storages.size());
  DCPCTL_TRY(ParallelFor(storages.size(), options.jobs, options.stop, [&](uint64_t i) -> Result<void> {
    const Storage& storage = storages[i];
    const StoredTensor& stored = storage.encoded.stored;
    DCPCTL_ASSIGN(const auto file, cache.Open(storage.file));
    const auto crc = engine::DigestStorage(*file, storage.encoded);
    Finding finding{.id = "payload.crc",
                    .severity = Severity::kError,
                    .file = catalog.files[storage.file].path,
                    .offset = stored.codec == Codec::kZstd ? storage.encoded.record_offset : stored.offset,
                    .key = storage.key,
                    .message = ""};
    if (!crc) {
      finding.id = "payload.unreadable";
      finding.message = crc.error().Text();
      found[i] = std::move(finding);
    } else if (stored.crc_known && *crc != stored.crc) {
      finding.message = "CRC-32 of the storage is " + Hex(*crc, 8) + ", expected " + Hex(stored.crc, 8) +
                        " as its writer recorded it";
      found[i] = std::move(finding);
    }
    return {};
  }));
  for (auto& finding : found) {
    if (finding) findings.push_back(*std::move(finding));
  }
  return {};
}

}  // namespace dcpctl::check
