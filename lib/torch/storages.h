// Where the storages of a torch.save file lie, whatever form the file has. Who reads its pickle asks this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"

namespace dcpctl::torch {

// Thread-safe.
class Storages {
 public:
  virtual ~Storages() = default;
  // The storage that persistent ids call `key`, as a catalog has it; its first element is left at 0. kCorrupt
  // when it is not there; kUnsupported when it is there in a way that can't be read.
  [[nodiscard]] virtual Result<StoredTensor> Find(std::string_view key) const = 0;
  // For messages.
  [[nodiscard]] virtual const std::string& file() const = 0;
};

// Find. kCorrupt when it has other than `expected_bytes`, the size that the pickle says.
Result<StoredTensor> LocateStorage(const Storages& storages, std::string_view key, uint64_t expected_bytes);

}  // namespace dcpctl::torch
