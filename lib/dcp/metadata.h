// The classes of a `.metadata` pickle as structs. They are known by class name and fields, not by module:
// PyTorch has moved them twice. Attributes that are not named here are allowed and left alone.
// Format facts: dcpctl-formats(5), "The .metadata pickle".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/pickle.h"

namespace dcpctl::dcp {

// Views into the pickle's Document.
struct ChunkMetadata {
  pickle::Value offsets;
  pickle::Value sizes;
};

struct TensorMetadata {
  DType dtype = DType::kFloat32;
  bool requires_grad = false;
  Dims shape;
  pickle::Value chunks;  // a list; see ReadChunk
};

struct StorageRecord {
  std::string_view key;
  std::optional<pickle::Value> tensor_offsets;  // nothing for objects
  std::string_view path;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::vector<std::string> transforms;
};

struct Metadata {
  pickle::Value state_dict;                   // dict of key -> TensorStorageMetadata or BytesStorageMetadata
  std::optional<pickle::Value> planner_data;  // dict of key -> tuple path
  pickle::Value storage_data;                 // dict of MetadataIndex -> _StorageInfo
  std::vector<std::pair<std::string, std::string>> details;  // version, save_id, ...: for reports
};

// Errors of all: kCorrupt, naming the field, what was found and what was expected. `file` is for messages.
Result<Metadata> ReadMetadata(pickle::Value root, const std::string& file);
// Nothing for an object (BytesStorageMetadata).
Result<std::optional<TensorMetadata>> ReadEntry(pickle::Value entry, const std::string& file, const Limits& limits);
Result<ChunkMetadata> ReadChunk(pickle::Value chunk, const std::string& file);
Result<StorageRecord> ReadStorageRecord(pickle::Value index, pickle::Value info, const std::string& file);
Result<KeyPath> ReadPath(pickle::Value path, const std::string& file);
// Appends the numbers of a torch.Size, tuple or list. Returns how many there are; none is appended if they are more
// than `most`.
Result<size_t> AppendDims(pickle::Value size, const std::string& file, Dims& out, size_t most = SIZE_MAX);

}  // namespace dcpctl::dcp
