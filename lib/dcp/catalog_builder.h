// Joins the metadata of one checkpoint into a Catalog: usually one `.metadata`, or one per rank after a save
// without collectives. Looks at no file but for the names in the metadata.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_hash.h"
#include "dcp/key_index.h"
#include "dcp/metadata.h"
#include "dcpctl/catalog.h"
#include "pickle/room.h"

namespace dcpctl::dcp {

// A record that the metadata of a later rank has for a chunk or object that an earlier one has too: its bytes belong to
// the checkpoint, and nobody needs them.
struct SpareRecord {
  uint32_t file = 0;  // in the catalog
  uint64_t offset = 0;
  uint64_t length = 0;
};

class CatalogBuilder {
 public:
  // `jobs`: threads for large metadata; 0 is one per core.
  explicit CatalogBuilder(const Limits& limits, unsigned jobs = 1)
      : limits_(limits), jobs_(jobs), entry_by_key_(catalog_) {}
  CatalogBuilder(const CatalogBuilder&) = delete;
  CatalogBuilder& operator=(const CatalogBuilder&) = delete;

  // Metadata of one rank, lowest rank first: where two ranks describe the same chunk or object, the first
  // counts. `file` is for messages. What is wrong with one entry is a finding with its key, so that others can still be
  // read: dcp.entry-damaged, dcp.entry-unsupported, dcp.path-refused. Such an entry stays, as an empty tensor when
  // nothing is known of it.
  Result<void> Add(pickle::Value root, const std::string& file);

  // The catalog, with chunks and objects placed in files. What the metadata promises and does not place is
  // a finding (dcp.record-missing), and so is a record that belongs to nothing (dcp.record-unused).
  Result<Catalog> Finish() &&;
  // After Finish.
  [[nodiscard]] const std::vector<SpareRecord>& spare() const { return spare_; }

 private:
  struct PendingChunk {
    uint32_t tensor;
    uint64_t dims;  // offsets and sizes in the pool
  };
  static constexpr uint64_t kObjectRank = UINT64_MAX;
  struct Record {
    uint32_t entry;
    uint32_t file;
    uint32_t transforms;
    uint64_t dims;  // offsets in record_dims_
    uint64_t rank;  // how many; kObjectRank for objects
    uint64_t offset;
    uint64_t length;
  };

  // What a tensor's metadata lists, still to be read.
  struct ChunkList {
    uint32_t tensor;
    pickle::Value chunks;
  };

  Result<void> AddEntries(const Metadata& metadata, pickle::Room& room, const std::string& file,
                          std::vector<ChunkList>& lists);
  // What an entry of metadata says; read once where the entries before it have the same value.
  struct EntryValue {
    uint32_t identity;
    size_t attributes;
    std::optional<TensorMetadata> tensor;  // nothing for an object
  };
  Result<const EntryValue*> ReadOnce(pickle::Value value, const std::string& file);
  // Nothing for an object, and for a tensor without chunks.
  Result<std::optional<ChunkList>> AddEntry(std::string_view key, pickle::Value value, pickle::Room& room,
                                            const std::string& file);
  void AddPlaceholder(std::string_view key);
  Result<void> AddChunks(const std::vector<ChunkList>& lists, pickle::Room& room, const std::string& file,
                         Findings& findings);
  Result<void> AddChunksOf(uint32_t tensor, pickle::Value chunks, const std::string& file);
  Result<void> AddRecords(pickle::Value storage_data, pickle::Room& room, const std::string& file);
  Result<void> AddRecord(pickle::Value index, pickle::Value info, pickle::Room& room, const std::string& file);
  Result<void> AddPaths(const Metadata& metadata, pickle::Room& room, const std::string& file);
  void SetPath(EntryRef entry, std::string_view key, KeyPath path);
  static Result<void> Take(pickle::Room& room, uint64_t bytes, const std::string& file);
  uint32_t FileIndex(std::string_view path);
  uint32_t TransformChain(const std::vector<std::string>& transforms);

  // Whether `error` is about one entry of the input; then it becomes a finding. Limits and worse end everything.
  bool Excuse(const Error& error, const char* id, std::string_view key, const std::string& file, Findings& findings);
  void MarkDamaged(std::string_view key);
  [[nodiscard]] bool IsDamaged(uint32_t entry) const { return entry < is_damaged_.size() && is_damaged_[entry]; }

  void PlaceChunks();
  void PlaceObjects();
  const Record* FindRecord(uint32_t entry, DimsView offsets);
  void ReportUnused();
  DimsView OffsetsOf(const Record& record) const;
  int CompareOffsets(const Record& record, DimsView offsets) const;
  void SortRecords();
  void ReportMissing(std::string_view key, const std::string& what);
  void CountEntry(uint32_t file);

  Limits limits_;
  unsigned jobs_;
  Catalog catalog_;
  KeyIndex entry_by_key_;
  TextMap<uint32_t> file_by_path_;
  std::map<std::vector<std::string>, uint32_t> chain_by_transforms_;
  std::optional<EntryValue> last_entry_;  // in the pickle that is being added
  std::string_view last_path_;            // looked up last, likewise
  uint32_t last_file_ = 0;
  std::vector<PendingChunk> pending_;
  std::vector<Record> records_;          // sorted by SortRecords
  Dims record_dims_;                     // the pool of their offsets
  std::vector<size_t> first_record_of_;  // by entry, and one past the last
  std::vector<bool> is_placed_;          // by record
  std::vector<bool> is_damaged_;         // by entry; shorter when the last ones are not
  std::vector<SpareRecord> spare_;
  size_t marked_ = 0;  // findings whose entries are in is_damaged_
  unsigned added_ = 0;
};

}  // namespace dcpctl::dcp
