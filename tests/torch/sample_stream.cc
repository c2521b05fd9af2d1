#include "tests/torch/sample_stream.h"

#include "tests/support/result.h"

namespace dcpctl::torch {

using pickle::Document;
using test::Value;

SampleStream MakeStream(pickle::Value root, const std::vector<SampleStorage>& storages, bool little_endian) {
  SampleStream stream{.storages = storages};
  stream.magic = PickleOf([](Document& d) { return d.BigInt("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"); });
  stream.version = PickleOf([](Document& d) { return d.Int(1001); });
  stream.info = PickleOf([&](Document& d) {
    const pickle::Value info = d.Dict();
    d.SetItem(info, d.String("protocol_version"), d.Int(1001));
    d.SetItem(info, d.String("little_endian"), d.Bool(little_endian));
    return info;
  });
  stream.state = Value(pickle::WritePickle(root));
  stream.keys = PickleOf([&](Document& d) {
    const pickle::Value keys = d.List();
    for (const SampleStorage& storage : storages) d.Append(keys, d.String(storage.key));
    return keys;
  });
  return stream;
}

std::string CountBytes(uint64_t count) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(count >> (8 * i));
  return bytes;
}

std::string Join(const SampleStream& stream) {
  std::string bytes = stream.magic + stream.version + stream.info + stream.state + stream.keys;
  for (const SampleStorage& storage : stream.storages) bytes += CountBytes(storage.count) + storage.data;
  return bytes;
}

pickle::Value MakeStorageId(Document& document, const std::string& storage_class, const std::string& key, int64_t items,
                            const std::optional<SampleView>& view) {
  const pickle::Value view_value =
      view ? document.Tuple({document.String(view->key), document.Int(view->first), document.Int(view->items)})
           : document.None();
  return document.PersistentId(
      document.Tuple({document.String("storage"), document.Global("torch", storage_class), document.String(key),
                      document.String("cpu"), document.Int(items), view_value}));
}

}  // namespace dcpctl::torch
