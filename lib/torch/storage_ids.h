// What a pickle's persistent ids say about storages, taken together.
#pragma once

#include <string>
#include <string_view>

#include "base/text_hash.h"
#include "dcpctl/error.h"
#include "dcpctl/pickle.h"
#include "torch/storages.h"

namespace dcpctl::torch {

// Refuses storages that are mentioned with items of two types. PyTorch does not write such a file, and there is no
// telling which type is right. (That sizes agree is seen where a storage lies.) Ids of classes that are not known
// are left alone. Borrows the other, which must outlive it.
class ConsistentStorages final : public Storages {
 public:
  ConsistentStorages(const Storages& storages, const pickle::Document& document);

  [[nodiscard]] Result<StoredTensor> Find(std::string_view key) const override;
  [[nodiscard]] const std::string& file() const override { return storages_.file(); }

 private:
  const Storages& storages_;
  TextMap<Error> contradicted_;  // by key
};

}  // namespace dcpctl::torch
