// Where the storages of torch.save's stream form lie. The stream has no directory: it says in which order the
// storages follow each other, and the persistent ids of its pickle say how large each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/text_hash.h"
#include "dcpctl/error.h"
#include "dcpctl/pickle.h"
#include "torch/storages.h"
#include "torch/tensor.h"

namespace dcpctl::torch {

// In front of each storage: its number of items.
inline constexpr uint64_t kCountBytes = 8;

// Borrows the source, which must outlive it.
class LegacyStorages final : public Storages {
 public:
  struct Options {
    std::vector<std::string> keys;  // of the storages, in the order in which they follow each other
    uint64_t offset = 0;            // of the first of them
    bool little_endian = true;      // the machine that wrote the stream
  };

  // Reads nothing. kCorrupt for ids that contradict each other or the list of keys, and for sizes beyond 64
  // bits; kUnsupported for a storage of a class that is not known, behind which nothing can be found.
  static Result<LegacyStorages> Make(const ByteSource& source, const pickle::Document& document,
                                     const Options& options);

  // Reads the storage's number of items. kCorrupt when that is another than the persistent id says, when the
  // file ends before the storage does, and for one that the list of keys does not have.
  [[nodiscard]] Result<StoredTensor> Find(std::string_view key) const override;
  [[nodiscard]] const std::string& file() const override { return source_->name(); }

  // Without views.
  [[nodiscard]] size_t count() const { return offsets_.size(); }
  // Where the last storage should end.
  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  explicit LegacyStorages(const ByteSource& source) : source_(&source) {}

  Result<void> AddId(const StorageRef& ref);
  Result<void> LayOut(const Options& options);
  [[nodiscard]] Result<void> CheckCount(const StorageRef& root, uint64_t offset) const;

  const ByteSource* source_;
  TextMap<StorageRef> refs_;   // by key; views and what they are views of
  TextMap<uint64_t> offsets_;  // of the count of each storage that is no view
  uint64_t begin_ = 0;         // of the first storage, where the list of keys ends
  uint64_t end_ = 0;
  bool little_endian_ = true;
};

}  // namespace dcpctl::torch
