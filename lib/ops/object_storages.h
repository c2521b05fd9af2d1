// The storages of an object by the key that its pickle names them by. Objects of thousands of tensors are real.
#pragma once

#include <string_view>

#include "base/text_hash.h"
#include "dcpctl/catalog.h"

namespace dcpctl::ops {

class ObjectStorages {
 public:
  // Stores references to `value`.
  explicit ObjectStorages(const ObjectValue& value) {
    for (const ObjectStorage& storage : value.storages) by_key_.emplace(storage.key, &storage);
  }

  // Null for a storage without data, on the meta device: it is not listed.
  [[nodiscard]] const ObjectStorage* Find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  TextViewMap<const ObjectStorage*> by_key_;
};

}  // namespace dcpctl::ops
