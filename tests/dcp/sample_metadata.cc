#include "dcp/sample_metadata.h"

#include <utility>

#include "support/result.h"

namespace dcpctl::dcp {

using pickle::Construct;
using pickle::Value;

SampleMetadata::SampleMetadata(SampleStyle style)
    : style_(std::move(style)), entries_(document_.Dict()), paths_(document_.Dict()), records_(document_.Dict()) {}

void SampleMetadata::AddTensor(const std::string& key, const std::string& dtype, const Ints& shape,
                               const std::vector<std::pair<Ints, Ints>>& boxes, bool requires_grad) {
  const Value chunks = document_.List();
  for (const auto& [offsets, sizes] : boxes) {
    document_.Append(chunks, Instance("ChunkStorageMetadata", {{"offsets", Size(offsets)}, {"sizes", Size(sizes)}}));
  }
  document_.SetItem(
      entries_, document_.String(key),
      Instance("TensorStorageMetadata",
               {{"properties", Properties(dtype, requires_grad)}, {"size", Size(shape)}, {"chunks", chunks}}));
}

void SampleMetadata::AddObject(const std::string& key) {
  document_.SetItem(entries_, document_.String(key), Instance("BytesStorageMetadata", {}));
}

void SampleMetadata::AddRecord(const SampleRecord& record) {
  const bool has_offset = record.offsets && style_.index_has_offset;
  const Value index = Instance("MetadataIndex", {{"fqn", document_.String(record.key)},
                                                 {"offset", has_offset ? Size(*record.offsets) : document_.None()},
                                                 {"index", document_.None()}});
  std::vector<std::pair<std::string, Value>> info = {{"relative_path", document_.String(record.path)},
                                                     {"offset", document_.Int(record.offset)},
                                                     {"length", document_.Int(record.length)}};
  if (record.spelling == SampleRecord::Spelling::kNone) info.emplace_back("transform_descriptors", document_.None());
  if (record.spelling == SampleRecord::Spelling::kList || !record.transforms.empty()) {
    const Value list = document_.List();
    for (const std::string& name : record.transforms) document_.Append(list, document_.String(name));
    info.emplace_back("transform_descriptors", list);
  }
  document_.SetItem(records_, index, InstanceOf("torch.distributed.checkpoint.filesystem", "_StorageInfo", info));
}

void SampleMetadata::AddPath(const std::string& key, const KeyPath& path) {
  std::vector<Value> elements;
  for (const PathElement& element : path) {
    const auto* const name = std::get_if<std::string>(&element);
    elements.push_back(name != nullptr ? document_.String(*name)
                                       : document_.Int(static_cast<int64_t>(std::get<uint64_t>(element))));
  }
  document_.SetItem(paths_, document_.String(key), document_.Tuple(elements));
}

Value SampleMetadata::Finish() {
  return Instance("Metadata", {{"state_dict_metadata", entries_},
                               {"planner_data", paths_.size() > 0 ? paths_ : document_.None()},
                               {"storage_data", records_}});
}

std::string SampleMetadata::Pickle(int protocol) {
  return test::Value(pickle::WritePickle(Finish(), {.protocol = protocol, .limits = {}}));
}

Value SampleMetadata::Size(const Ints& numbers) {
  std::vector<Value> items;
  for (const int64_t number : numbers) items.push_back(document_.Int(number));
  return document_.Call(document_.Global("torch", "Size"), {document_.Tuple(items)});
}

Value SampleMetadata::Instance(const std::string& name, const std::vector<std::pair<std::string, Value>>& attributes) {
  return InstanceOf(
      style_.old_modules ? "torch.distributed._shard.checkpoint.metadata" : "torch.distributed.checkpoint.metadata",
      name, attributes);
}

Value SampleMetadata::InstanceOf(const std::string& module, const std::string& name,
                                 const std::vector<std::pair<std::string, Value>>& attributes) {
  const Value object = document_.Object(Construct::kNewObj, document_.Global(module, name), document_.Tuple({}));
  const Value state = document_.Dict();
  for (const auto& [attribute, value] : attributes) {
    const auto override_it = style_.overrides.find(name + "." + attribute);
    const auto chosen = override_it == style_.overrides.end() ? std::optional(value) : override_it->second(document_);
    if (chosen) document_.SetItem(state, document_.String(attribute), *chosen);
  }
  if (const auto extra = style_.overrides.find(name + ".*"); extra != style_.overrides.end()) {
    document_.SetItem(state, document_.String("unheard_of"), *extra->second(document_));
  }
  document_.SetState(object, state);
  return object;
}

Value SampleMetadata::Properties(const std::string& dtype, bool requires_grad) {
  const std::string module =
      style_.old_modules ? "torch.distributed._shard.sharded_tensor.metadata" : "torch.distributed.checkpoint.metadata";
  const Value object =
      document_.Object(Construct::kNewObj, document_.Global(module, "TensorProperties"), document_.Tuple({}));
  const Value strided = document_.Global("torch", "strided");
  const Value format = document_.Call(document_.Global(module, "MEM_FORMAT_ENCODING"), {document_.Int(0)});
  std::vector<Value> state = {document_.Global(style_.dtype_module, dtype), strided, document_.Bool(requires_grad),
                              format, document_.Bool(false)};
  if (style_.six_properties) state.push_back(document_.None());
  const auto override_it = style_.overrides.find("TensorProperties");
  const auto chosen =
      override_it == style_.overrides.end() ? std::optional(document_.Tuple(state)) : override_it->second(document_);
  if (chosen) document_.SetState(object, *chosen);
  return object;
}

}  // namespace dcpctl::dcp
