#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dcp/layout.h"
#include "dcpctl/pickle.h"

namespace dcpctl::dcp {
namespace {

using pickle::Document;
using pickle::Value;

// Spells each class as PyTorch pickles it: dataclasses by NEWOBJ and a dict, properties by a tuple of five
// (PyTorch up to 2.14 reads no other), enum members by a call with their value.
class MetadataPickler {
 public:
  MetadataPickler(const NewMetadata& metadata, const Compat& compat) : in_(metadata), compat_(compat) {}

  Result<std::string> Run() {
    const Value entries = document_.Dict();
    const Value records = document_.Dict();
    const Value paths = document_.Dict();
    for (const NewEntry& entry : in_.entries) {
      const Value key = document_.String(entry.key);
      document_.SetItem(entries, key,
                        entry.is_tensor ? TensorOf(entry) : Instance("metadata", "BytesStorageMetadata", {}));
      for (size_t i = 0; i < entry.chunks.size(); ++i)
        document_.SetItem(records, IndexOf(entry, i), RecordOf(entry.chunks[i]));
      document_.SetItem(paths, key, PathOf(entry.path));
    }
    const Value metadata = Instance("metadata", "Metadata",
                                    {{"state_dict_metadata", entries},
                                     {"planner_data", in_.nested ? paths : document_.None()},
                                     {"storage_data", records}});
    document_.SetRoot(metadata);
    return pickle::WritePickle(metadata, {.protocol = 4, .limits = {}});
  }

 private:
  using Fields = std::vector<std::pair<std::string_view, Value>>;

  Value Instance(std::string_view module, std::string_view name, const Fields& fields) {
    const Value object = document_.Object(
        pickle::Construct::kNewObj, document_.Global(std::string(compat_.package) + "." + std::string(module), name),
        document_.Tuple({}));
    if (fields.empty()) return object;
    const Value state = document_.Dict();
    for (const auto& [field, value] : fields) document_.SetItem(state, document_.String(field), value);
    document_.SetState(object, state);
    return object;
  }

  Value SizeOf(DimsView dims) {
    std::vector<Value> items;
    for (const uint64_t dim : dims) items.push_back(document_.Int(static_cast<int64_t>(dim)));
    return document_.Call(document_.Global("torch", "Size"), {document_.Tuple(items)});
  }

  Value PropertiesOf(const NewEntry& entry) {
    const Value properties = document_.Object(
        pickle::Construct::kNewObj, document_.Global(compat_.properties, "TensorProperties"), document_.Tuple({}));
    const Value layout =
        document_.Call(document_.Global("torch.serialization", "_get_layout"), {document_.String("torch.strided")});
    const Value contiguous =
        document_.Call(document_.Global(compat_.properties, compat_.format_enum), {document_.Int(0)});
    const Value dtype = document_.Global("torch", Name(entry.dtype));
    document_.SetState(properties, document_.Tuple({dtype, layout, document_.Bool(entry.requires_grad), contiguous,
                                                    document_.Bool(false)}));
    return properties;
  }

  Value TensorOf(const NewEntry& entry) {
    const Value chunks = document_.List();
    for (const NewChunk& chunk : entry.chunks) {
      document_.Append(chunks, Instance("metadata", "ChunkStorageMetadata",
                                        {{"offsets", SizeOf(chunk.box.offsets)}, {"sizes", SizeOf(chunk.box.sizes)}}));
    }
    return Instance("metadata", "TensorStorageMetadata",
                    {{"properties", PropertiesOf(entry)}, {"size", SizeOf(entry.shape)}, {"chunks", chunks}});
  }

  Value IndexOf(const NewEntry& entry, size_t chunk) {
    Fields fields = {{"fqn", document_.String(entry.key)},
                     {"index", entry.is_tensor ? document_.Int(static_cast<int64_t>(chunk)) : document_.None()}};
    if (entry.is_tensor) fields.emplace_back("offset", SizeOf(entry.chunks[chunk].box.offsets));
    return Instance("metadata", "MetadataIndex", fields);
  }

  Value RecordOf(const NewChunk& chunk) {
    Fields fields = {{"relative_path", document_.String(in_.files[chunk.file])},
                     {"offset", document_.Int(static_cast<int64_t>(chunk.place.offset))},
                     {"length", document_.Int(static_cast<int64_t>(chunk.place.length))}};
    if (chunk.transforms != 0) {
      const Value transforms = document_.List();
      for (const std::string& name : in_.transform_chains[chunk.transforms])
        document_.Append(transforms, document_.String(name));
      fields.emplace_back("transform_descriptors", transforms);
    }
    return Instance("filesystem", "_StorageInfo", fields);
  }

  Value PathOf(const KeyPath& path) {
    std::vector<Value> elements;
    for (const PathElement& element : path) {
      const auto* text = std::get_if<std::string>(&element);
      elements.push_back(text != nullptr ? document_.String(*text)
                                         : document_.Int(static_cast<int64_t>(std::get<uint64_t>(element))));
    }
    return document_.Tuple(elements);
  }

  const NewMetadata& in_;
  const Compat& compat_;
  Document document_;
};

}  // namespace

Result<std::string> WriteMetadata(const NewMetadata& metadata, const Compat& compat) {
  return MetadataPickler(metadata, compat).Run();
}

}  // namespace dcpctl::dcp
