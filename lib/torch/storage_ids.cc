#include "torch/storage_ids.h"

#include <string>

#include "base/quote.h"
#include "base/text_hash.h"
#include "pickle/persistent_ids.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

std::string TypeOf(const StorageRef& ref) {
  return ref.untyped ? "untyped bytes" : "items of " + std::string(Name(ref.dtype));
}

}  // namespace

ConsistentStorages::ConsistentStorages(const Storages& storages, const pickle::Document& document)
    : storages_(storages) {
  TextMap<StorageRef> known;
  for (const pickle::Value id : pickle::PersistentIds(document)) {
    const auto ref = ReadPersistentId(id, file());
    if (!ref) continue;
    const auto [first, is_new] = known.try_emplace(ref->key, *ref);
    const StorageRef& other = first->second;
    if (is_new || (other.dtype == ref->dtype && other.untyped == ref->untyped)) continue;
    contradicted_.try_emplace(ref->key, Error(ErrorKind::kCorrupt, Place{file()},
                                              "storage " + Quote(ref->key) + " has " + TypeOf(*ref) + ", expected " +
                                                  TypeOf(other) + " as another mention of it says"));
  }
}

Result<StoredTensor> ConsistentStorages::Find(std::string_view key) const {
  const auto contradicted = contradicted_.find(std::string(key));
  if (contradicted != contradicted_.end()) return Fail(contradicted->second);
  return storages_.Find(key);
}

}  // namespace dcpctl::torch
