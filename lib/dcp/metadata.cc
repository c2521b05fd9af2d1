#include "dcp/metadata.h"

#include <array>

#include "base/quote.h"
#include "base/result.h"
#include "dcp/details.h"
#include "dcp/instance.h"

namespace dcpctl::dcp {
namespace {

using pickle::Kind;
using pickle::Value;

auto Unexpected(Value found, const std::string& file, std::string_view field, std::string_view expected) {
  Place place{.file = file};
  if (found.offset() != 0) place.offset = found.offset();
  return Fail(std::move(place), ErrorKind::kCorrupt,
              std::string(field) + " is " + Quote(pickle::Print(found, {.max_bytes = 60})) + ", expected " +
                  std::string(expected));
}

// A field of `object` that must be there.
Result<Value> Require(Value object, const pickle::Field& found, Kind kind, const std::string& file,
                      std::string_view expected) {
  if (found.value && found.value->Is(kind)) return *found.value;
  const std::string owner(ClassName(object));
  const std::string field = owner.empty() ? std::string(found.name) : owner + "." + std::string(found.name);
  if (!found.value) return Unexpected(object, file, field, std::string(expected) + ", which is absent");
  return Unexpected(*found.value, file, field, expected);
}

Result<Value> Require(Value object, std::string_view name, Kind kind, const std::string& file,
                      std::string_view expected) {
  return Require(object, pickle::Field{name, Attribute(object, name)}, kind, file, expected);
}

Result<uint64_t> ReadCount(Value value, const std::string& file, std::string_view field) {
  if (!value.Is(Kind::kInt) || value.AsInt() < 0) return Unexpected(value, file, field, "an integer >= 0");
  return static_cast<uint64_t>(value.AsInt());
}

// torch.Size is written as a call with one tuple; a plain tuple or list does as well.
Result<Value> UnwrapSize(Value size, const std::string& file) {
  if (const auto dims = size.OnlyArgumentOf("Size")) size = *dims;
  if (!size.Is(Kind::kTuple) && !size.Is(Kind::kList)) return Unexpected(size, file, "size", "a torch.Size");
  return size;
}

Result<DType> ReadDType(Value value, const std::string& file) {
  if (!value.Is(Kind::kGlobal)) return Unexpected(value, file, "dtype", "a torch dtype");
  const auto dtype = DTypeFromName(value.name());
  if (!dtype) {
    return Fail(Place{file, value.offset()}, ErrorKind::kUnsupported,
                "dtype " + Quote(value.name()) + " is not known, expected one that PyTorch can store");
  }
  return *dtype;
}

Result<std::vector<std::string>> ReadTransforms(Value list, const std::string& file) {
  if (!list.Is(Kind::kList) && !list.Is(Kind::kTuple)) return Unexpected(list, file, "transform_descriptors", "a list");
  std::vector<std::string> transforms;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].Is(Kind::kString)) return Unexpected(list[i], file, "transform descriptor", "a str");
    transforms.emplace_back(list[i].AsText());
  }
  return transforms;
}

}  // namespace

Result<Metadata> ReadMetadata(Value root, const std::string& file) {
  if (ClassName(root) != "Metadata" || !root.state() || !root.state()->Is(Kind::kDict)) {
    return Unexpected(root, file, "the pickle's root", "an instance of Metadata with attributes");
  }
  DCPCTL_ASSIGN(const Value state_dict, Require(root, "state_dict_metadata", Kind::kDict, file, "a dict"));
  DCPCTL_ASSIGN(const Value storage_data, Require(root, "storage_data", Kind::kDict, file, "a dict"));
  Metadata metadata{.state_dict = state_dict,
                    .planner_data = Attribute(root, "planner_data"),
                    .storage_data = storage_data,
                    .details = {}};
  if (metadata.planner_data && !metadata.planner_data->Is(Kind::kDict)) {
    return Unexpected(*metadata.planner_data, file, "Metadata.planner_data", "a dict or None");
  }
  metadata.details = ReadDetails(root);
  return metadata;
}

Result<std::optional<TensorMetadata>> ReadEntry(Value entry, const std::string& file, const Limits& limits) {
  if (ClassName(entry) == "BytesStorageMetadata") return std::optional<TensorMetadata>();
  if (ClassName(entry) != "TensorStorageMetadata") {
    return Unexpected(entry, file, "entry", "TensorStorageMetadata or BytesStorageMetadata");
  }
  DCPCTL_ASSIGN(const Value properties, Require(entry, "properties", Kind::kObject, file, "TensorProperties"));
  // A tuple of five values up to PyTorch 2.14, of six from 2.15 on; the first is the dtype, the third requires_grad.
  const auto state = properties.state();
  if (!state || !state->Is(Kind::kTuple) || state->size() < 5) {
    return Unexpected(properties, file, "TensorProperties", "a state of five or more values");
  }
  DCPCTL_ASSIGN(const DType dtype, ReadDType((*state)[0], file));
  DCPCTL_ASSIGN(const Value chunks, Require(entry, "chunks", Kind::kList, file, "a list"));
  TensorMetadata tensor{.dtype = dtype,
                        .requires_grad = (*state)[2].Is(Kind::kBool) && (*state)[2].AsBool(),
                        .shape = {},
                        .chunks = chunks};
  const auto size = Attribute(entry, "size");
  if (!size) return Unexpected(entry, file, "TensorStorageMetadata.size", "a torch.Size, which is absent");
  DCPCTL_ASSIGN(const size_t rank, AppendDims(*size, file, tensor.shape, limits.rank));
  if (rank > limits.rank) {
    return Fail(Place{.file = file}, ErrorKind::kLimit,
                "tensor has " + std::to_string(rank) + " dimensions, expected at most " + std::to_string(limits.rank));
  }
  return std::optional(std::move(tensor));
}

Result<ChunkMetadata> ReadChunk(Value chunk, const std::string& file) {
  std::array fields = {pickle::Field{"offsets"}, pickle::Field{"sizes"}};
  chunk.ReadFields(fields);
  if (!fields[0].value || !fields[1].value) {
    return Unexpected(chunk, file, "chunk", "ChunkStorageMetadata with offsets and sizes");
  }
  return ChunkMetadata{.offsets = *fields[0].value, .sizes = *fields[1].value};
}

Result<StorageRecord> ReadStorageRecord(Value index, Value info, const std::string& file) {
  std::array where = {pickle::Field{"fqn"}, pickle::Field{"offset"}};
  std::array what = {pickle::Field{"relative_path"}, pickle::Field{"offset"}, pickle::Field{"length"},
                     pickle::Field{"transform_descriptors"}};
  index.ReadFields(where);
  info.ReadFields(what);
  DCPCTL_ASSIGN(const Value fqn, Require(index, where[0], Kind::kString, file, "a str"));
  DCPCTL_ASSIGN(const Value path, Require(info, what[0], Kind::kString, file, "a str"));
  DCPCTL_ASSIGN(const Value offset, Require(info, what[1], Kind::kInt, file, "an integer"));
  DCPCTL_ASSIGN(const Value length, Require(info, what[2], Kind::kInt, file, "an integer"));
  StorageRecord record{.key = fqn.AsText(), .tensor_offsets = where[1].value, .path = path.AsText(), .transforms = {}};
  DCPCTL_ASSIGN(record.offset, ReadCount(offset, file, "offset of a storage record"));
  DCPCTL_ASSIGN(record.length, ReadCount(length, file, "length of a storage record"));
  if (what[3].value) {
    DCPCTL_ASSIGN(record.transforms, ReadTransforms(*what[3].value, file));
  }
  return record;
}

Result<KeyPath> ReadPath(Value path, const std::string& file) {
  if (!path.Is(Kind::kTuple) && !path.Is(Kind::kList)) return Unexpected(path, file, "path in planner_data", "a tuple");
  KeyPath elements;
  for (size_t i = 0; i < path.size(); ++i) {
    const Value element = path[i];
    if (element.Is(Kind::kString)) {
      elements.emplace_back(std::string(element.AsText()));
    } else {
      DCPCTL_ASSIGN(const uint64_t position, ReadCount(element, file, "path element in planner_data"));
      elements.emplace_back(position);
    }
  }
  if (elements.empty()) return Unexpected(path, file, "path in planner_data", "at least one element");
  return elements;
}

Result<size_t> AppendDims(Value size, const std::string& file, Dims& out, size_t most) {
  DCPCTL_ASSIGN(const Value items, UnwrapSize(size, file));
  const size_t count = items.size();
  if (count > most) return count;
  if (items.AppendCounts(out)) return count;
  for (size_t i = 0; i < count; ++i) {
    DCPCTL_TRY(ReadCount(items[i], file, "size"));
  }
  return count;
}

}  // namespace dcpctl::dcp
