// Joins the metadata of one checkpoint into a Catalog: usually one `.metadata`, or one per rank after a save
// without collectives. Looks at no file but for the names in the metadata.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dcp/metadata.h"
#include "dcpctl/catalog.h"

namespace dcpctl::dcp {

class CatalogBuilder {
 public:
  explicit CatalogBuilder(const Limits& limits) : limits_(limits) {}

  // Metadata of one rank, lowest rank first: where two ranks describe the same chunk or object, the first
  // counts. `file` is for messages.
  Result<void> Add(pickle::Value root, const std::string& file);

  // The catalog, with chunks and objects placed in files. What the metadata promises and does not place is
  // a finding (dcp.record-missing).
  Result<Catalog> Finish() &&;

 private:
  struct PendingChunk {
    uint32_t tensor;
    uint64_t dims;  // offsets and sizes in the pool
  };
  struct Record {
    uint32_t entry;
    uint32_t file;
    uint32_t transforms;
    uint64_t dims;  // offsets in the pool
    uint64_t rank;  // how many; kObjectRank for objects
    uint64_t offset;
    uint64_t length;
  };

  Result<void> AddEntry(std::string_view key, pickle::Value value, const std::string& file);
  Result<void> AddChunks(uint32_t tensor, pickle::Value chunks, const std::string& file);
  Result<void> AddRecord(pickle::Value index, pickle::Value info, const std::string& file);
  Result<void> AddPaths(const Metadata& metadata, const std::string& file);
  Result<uint32_t> FileIndex(std::string_view path);
  uint32_t TransformChain(const std::vector<std::string>& transforms);

  void PlaceChunks();
  void PlaceObjects();
  const Record* FindRecord(uint32_t entry, DimsView offsets) const;
  int CompareOffsets(const Record& record, DimsView offsets) const;
  void SortRecords();
  void ReportMissing(const std::string& key, const std::string& what);
  void CountEntry(uint32_t file);

  Limits limits_;
  Catalog catalog_;
  std::unordered_map<std::string, uint32_t> entry_by_key_;  // into catalog_.entries
  std::unordered_map<std::string, uint32_t> file_by_path_;
  std::vector<PendingChunk> pending_;
  std::vector<Record> records_;
  unsigned added_ = 0;
};

}  // namespace dcpctl::dcp
