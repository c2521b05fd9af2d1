#include "torch/storages.h"

#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::torch {

Result<StoredTensor> LocateStorage(const Storages& storages, std::string_view key, uint64_t expected_bytes) {
  DCPCTL_ASSIGN(const StoredTensor stored, storages.Find(key));
  if (stored.bytes == expected_bytes) return stored;
  return Fail(Place{storages.file(), stored.offset}, ErrorKind::kCorrupt,
              "record of storage " + Quote(key) + " has " + std::to_string(stored.bytes) + " bytes, expected " +
                  std::to_string(expected_bytes) + " as the pickle says");
}

}  // namespace dcpctl::torch
