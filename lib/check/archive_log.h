// Collects, while a checkpoint is surveyed by several threads, what CheckArchive says of its archives.
#pragma once

#include <mutex>
#include <vector>

#include "base/byte_source.h"
#include "check/payload.h"
#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"
#include "zip/read.h"

namespace dcpctl::check {

class ArchiveLog {
 public:
  // `payload`: also read small records and remember the storages.
  explicit ArchiveLog(bool payload) : payload_(payload) {}

  // Thread-safe. The signature of dcp::RecordHooks::on_archive.
  void Add(EntryRef entry, uint32_t file, const ByteSource& source, const zip::Directory& directory, bool decoded);

  // Once all are there. Adds findings under the names of `catalog`, but for those of places where a finding is already.
  void AddFindings(const Catalog& catalog, Findings& findings);
  // Storages of all archives that are not encoded, for CheckPayloads.
  [[nodiscard]] std::vector<LooseRecord> Storages(const Catalog& catalog) const;

 private:
  template <typename T>
  struct Of {
    EntryRef entry;
    uint32_t file;
    T value;
  };

  const bool payload_;
  std::mutex mutex_;  // guards the two below
  std::vector<Of<Finding>> findings_;
  std::vector<Of<StoredTensor>> storages_;
};

// Where the data of a record is, as a catalog says it. Its compression must be one that can be read.
StoredTensor StoredOf(const zip::Entry& entry, uint64_t offset);

}  // namespace dcpctl::check
