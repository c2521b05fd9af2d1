#include "torch/object.h"

#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

using pickle::Value;

class ObjectCopier {
 public:
  explicit ObjectCopier(const Storages& storages) : storages_(storages) {}

  Result<std::shared_ptr<ObjectValue>> Run(Value value, const Limits& limits, uint64_t* bytes) {
    pickle::Document::Importer importer(
        object_->document, [this](Value id, pickle::Document& target) { return CopyId(id, target); }, limits);
    auto root = importer.Import(value);
    if (bytes != nullptr) *bytes = object_->document.memory_bytes();
    if (!root) return Fail(std::move(root).error());
    object_->document.SetRoot(*root);
    return std::move(object_);
  }

 private:
  Result<Value> CopyId(Value id, pickle::Document& target) {
    auto storage = ReadPersistentId(id, storages_.file());
    std::string key;
    int64_t items = 0;
    if (storage) {
      DCPCTL_TRY(AddStorage(*storage));
      key = storage->key;
      items = static_cast<int64_t>(storage->items);  // ReadPersistentId takes no more than fit
    } else if (storage.error().kind() == ErrorKind::kUnsupported && id[4].Is(pickle::Kind::kInt)) {
      key = std::string(id[2].AsText());
      items = id[4].AsInt();
      DCPCTL_TRY(AddUnknown(key));  // only its class is not known
    } else {
      return Fail(std::move(storage).error());
    }
    return target.Tuple({target.String(id[0].AsText()), target.Global(id[1].module(), id[1].name()), target.String(key),
                         target.String(id[3].AsText()), target.Int(items)});
  }

  Result<void> AddStorage(const StorageRef& storage) {
    if (storage.location == "meta" || !keys_.insert(storage.key).second) return {};  // meta: has no record
    const auto bytes = CheckedMul(storage.items, ItemBytes(storage.dtype));
    if (!bytes) {
      return Fail(Place{storages_.file()}, ErrorKind::kCorrupt,
                  "storage " + Quote(storage.key) + " has " + std::to_string(storage.items) +
                      " items, expected a size that fits 64 bits");
    }
    DCPCTL_ASSIGN(const StoredTensor stored, LocateStorage(storages_, storage.key, *bytes));
    if (stored.big_endian && storage.untyped) return FailOrder(storage.key, stored);
    object_->storages.push_back(
        {.key = storage.key, .stored = stored, .swap_unit = static_cast<uint32_t>(SwapUnit(storage.dtype))});
    return {};
  }

  Result<void> AddUnknown(const std::string& key) {
    if (!keys_.insert(key).second) return {};
    DCPCTL_ASSIGN(const StoredTensor stored, storages_.Find(key));
    if (stored.big_endian) return FailOrder(key, stored);
    object_->storages.push_back({.key = key, .stored = stored});
    return {};
  }

  // Which bytes make an element is only known of a typed storage.
  Result<void> FailOrder(const std::string& key, const StoredTensor& stored) {
    return Fail(Place{storages_.file(), stored.offset}, ErrorKind::kUnsupported,
                "storage " + Quote(key) +
                    " of an object is big-endian and does not say of what type its items are, "
                    "expected a typed storage");
  }

  const Storages& storages_;
  std::shared_ptr<ObjectValue> object_ = std::make_shared<ObjectValue>();
  TextSet keys_;
};

}  // namespace

Result<std::shared_ptr<ObjectValue>> CopyObject(const Storages& storages, Value value, const Limits& limits,
                                                uint64_t* bytes) {
  return ObjectCopier(storages).Run(value, limits, bytes);
}

}  // namespace dcpctl::torch
