#include "ops/object_import.h"

#include <utility>

#include "base/quote.h"
#include "base/text_hash.h"
#include "ops/object_storages.h"

namespace dcpctl::ops {
namespace {

class StorageKeys {
 public:
  StorageKeys(const ObjectValue& value, const std::function<std::string(const ObjectStorage&)>& new_key)
      : storages_(value), new_key_(new_key) {}

  // A storage without data, on the meta device, is not listed and keeps its key.
  std::string NewKeyOf(std::string_view key) {
    const auto known = new_keys_.find(std::string(key));
    if (known != new_keys_.end()) return known->second;
    const ObjectStorage* const storage = storages_.Find(key);
    if (storage == nullptr) return std::string(key);
    return new_keys_.emplace(std::string(key), new_key_(*storage)).first->second;
  }

 private:
  const ObjectStorages storages_;
  const std::function<std::string(const ObjectStorage&)>& new_key_;
  TextMap<std::string> new_keys_;
};

}  // namespace

Result<pickle::Value> ImportObject(pickle::Document& target, const Object& object,
                                   const std::function<std::string(const ObjectStorage&)>& new_key) {
  if (!object.value) return Fail(ErrorKind::kInternal, "object " + Quote(object.key) + " was not read");
  StorageKeys keys(*object.value, new_key);
  // Five values, as the survey left them: ('storage', class, key, location, items).
  pickle::Document::Importer importer(target, [&](pickle::Value id, pickle::Document& into) -> Result<pickle::Value> {
    return into.Tuple({into.String(id[0].AsText()), into.Global(id[1].module(), id[1].name()),
                       into.String(keys.NewKeyOf(id[2].AsText())), into.String(id[3].AsText()),
                       into.Int(id[4].AsInt())});
  });
  auto value = importer.Import(object.value->document.root());
  if (!value) return Fail(std::move(value).error().In("entry " + Quote(object.key)));
  return value;
}

}  // namespace dcpctl::ops
