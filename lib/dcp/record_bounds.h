// How much the records of a checkpoint may take to be read, all together: each is read by itself, so that a few bytes
// of metadata could ask for any amount of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"

namespace dcpctl::dcp {

class RecordBounds {
 public:
  // Stores references.
  RecordBounds(const Catalog& catalog, const Limits& limits)
      : catalog_(catalog), limits_(limits), lengths_(catalog.files.size()), compressed_lengths_(catalog.files.size()) {}

  // Counts a record that will be read. kLimit when those of its file have much more bytes than the file.
  Result<void> Add(uint32_t file, uint64_t length, bool is_compressed, bool is_object);

  // Counts what a compressed object decoded to until it ended or was refused. For several threads at once.
  void AddDecoded(uint64_t bytes) { decoded_ += bytes; }
  // Whether CheckDecoded() is going to fail.
  [[nodiscard]] bool IsExceeded() const { return decoded_ > MostDecoded(); }
  // Whether it does not depends on all objects, and not on which of them were looked at. kLimit.
  [[nodiscard]] Result<void> CheckDecoded() const;

 private:
  [[nodiscard]] uint64_t MostDecoded() const;
  [[nodiscard]] Result<void> AddUp(uint64_t& sum, uint64_t length, uint64_t most, uint32_t file,
                                   const char* which) const;

  const Catalog& catalog_;
  const Limits& limits_;
  std::vector<uint64_t> lengths_;             // by file
  std::vector<uint64_t> compressed_lengths_;  // by file
  uint64_t object_lengths_ = 0;               // of compressed objects
  std::atomic<uint64_t> decoded_ = 0;
};

}  // namespace dcpctl::dcp
