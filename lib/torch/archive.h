// A torch.save archive (zip form): its pickle as a graph, its byte order, and where its storages lie. The
// archive is a range of a ByteSource: a file, or one item of a data file. Nothing but `data.pkl` and
// `data/KEY` is required of it; other records vary with the version that wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"
#include "torch/storages.h"
#include "zip/read.h"

namespace dcpctl::torch {

// Where the bytes of a record are.
struct Record {
  uint64_t offset = 0;         // absolute, of the first byte of the data as it is stored
  uint64_t bytes = 0;          // decoded
  uint64_t encoded_bytes = 0;  // as stored; equal to `bytes` for Codec::kNone
  uint32_t crc = 0;
  bool crc_known = false;
  Codec codec = Codec::kNone;
};

// Owns all it needs; the source is only asked again for local headers and payloads.
struct Archive {
  std::string file;  // for messages
  zip::Directory directory;
  std::string prefix;  // of every record, with its slash: "archive/"
  bool big_endian = false;
  std::optional<uint64_t> version;
  const zip::Entry* pickle_entry = nullptr;  // data.pkl, in `directory`
  pickle::Document document;                 // what data.pkl says
};

// Errors: those of zip::ReadDirectory and pickle::ReadPickle; kUnsupported for TorchScript and for versions
// above 10; kCorrupt for a zip archive that torch.save didn't write.
Result<Archive> OpenArchive(const ByteSource& source, uint64_t base, uint64_t length, const Limits& limits);

// What OpenArchive takes of a pickle, which may be compressed.
uint64_t MostPickleBytes(const zip::Entry& entry, const Limits& limits);

// The record of this name below the prefix; null when there is none.
const zip::Entry* FindEntry(const Archive& archive, std::string_view name);

// Reads one local header. kCorrupt also for a compression other than deflate, the only one that PyTorch reads.
Result<Record> Locate(const ByteSource& source, const zip::Entry& entry);

// The record of the storage that persistent ids call `key`.
Result<Record> FindStorage(const ByteSource& source, const Archive& archive, std::string_view key);

// FindStorage as a catalog has it. Both must outlive it.
class ArchiveStorages final : public Storages {
 public:
  ArchiveStorages(const ByteSource& source, const Archive& archive) : source_(source), archive_(archive) {}
  [[nodiscard]] Result<StoredTensor> Find(std::string_view key) const override;
  [[nodiscard]] const std::string& file() const override { return archive_.file; }

 private:
  const ByteSource& source_;
  const Archive& archive_;
};

}  // namespace dcpctl::torch
