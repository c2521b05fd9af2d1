#include "dcp/catalog_builder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcp/instance.h"
#include "dcp/naming.h"
#include "io/file_system.h"
#include "pickle/arena.h"

namespace dcpctl::dcp {
namespace {

using pickle::Kind;
using pickle::Value;

// Fewer records are read sooner than a thread is started.
constexpr size_t kWorthAThread = 10'000;
// Room that is made ahead of need; what a pickle claims beyond it is made as it comes.
constexpr size_t kMostReserved = size_t{16} << 20;
constexpr size_t kMostOfAKey = 60;  // in a message
// A chunk and its record take some 270 bytes of a pickle; each may become a finding, which takes about a KiB.
constexpr uint64_t kRoomPerByte = 64;
constexpr uint64_t kPerThing = 1024;

// Whose record it is; empty when that can't be read either.
std::string KeyOfIndex(Value index) {
  std::array fields = {pickle::Field{"fqn"}};
  index.ReadFields(fields);
  const bool is_key = fields[0].value && fields[0].value->Is(Kind::kString);
  return is_key ? std::string(fields[0].value->AsText()) : std::string();
}

}  // namespace

Result<void> CatalogBuilder::Add(Value root, const std::string& file) {
  DCPCTL_ASSIGN(const Metadata metadata, ReadMetadata(root, file));
  if (metadata.state_dict.size() > limits_.entries || metadata.storage_data.size() > limits_.entries) {
    return Fail(Place{.file = file}, ErrorKind::kLimit, "more than " + std::to_string(limits_.entries) + " entries");
  }
  if (added_++ == 0) catalog_.details = metadata.details;
  // One for each of what is read at the same time.
  const uint64_t bytes = pickle::ValueAccess::DocumentOf(root).content_bytes();
  pickle::Room of_entries(bytes, kRoomPerByte);
  pickle::Room of_records(bytes, kRoomPerByte);
  std::vector<ChunkList> lists;
  DCPCTL_TRY(AddEntries(metadata, of_entries, file, lists));
  // The two large halves, which share nothing but what is only read.
  const bool large = metadata.storage_data.size() >= kWorthAThread;
  Findings found;
  DCPCTL_TRY(ParallelFor(2, large ? jobs_ : 1, {}, [&](uint64_t half) {
    return half == 0 ? AddChunks(lists, of_entries, file, found) : AddRecords(metadata.storage_data, of_records, file);
  }));
  catalog_.findings.insert(catalog_.findings.end(), found.begin(), found.end());
  DCPCTL_TRY(AddPaths(metadata, of_entries, file));
  for (; marked_ < catalog_.findings.size(); ++marked_) {
    const Finding& finding = catalog_.findings[marked_];
    if (finding.severity == Severity::kError) MarkDamaged(finding.key);
  }
  return {};
}

bool CatalogBuilder::Excuse(const Error& error, const char* id, std::string_view key, const std::string& file,
                            Findings& findings) {
  const bool unsupported = error.kind() == ErrorKind::kUnsupported;
  if (!unsupported && error.kind() != ErrorKind::kCorrupt) return false;
  findings.push_back({.id = unsupported ? "dcp.entry-unsupported" : id,
                      .severity = Severity::kError,
                      .file = std::filesystem::path(file).filename().string(),
                      .key = std::string(key),
                      .message = error.Text(),
                      .advice = error.advice()});
  return true;
}

void CatalogBuilder::MarkDamaged(std::string_view key) {
  const uint32_t entry = entry_by_key_.Find(key);
  if (entry == kNoEntry) return;
  if (entry >= is_damaged_.size()) is_damaged_.resize(entry + 1);
  is_damaged_[entry] = true;
}

Result<void> CatalogBuilder::AddEntries(const Metadata& metadata, pickle::Room& room, const std::string& file,
                                        std::vector<ChunkList>& lists) {
  const size_t count = metadata.state_dict.size();
  last_entry_.reset();  // of another pickle
  entry_by_key_.Reserve(count);
  catalog_.entries.reserve(count);
  catalog_.tensors.reserve(count);  // most are
  for (size_t i = 0; i < count; ++i) {
    const Value key = metadata.state_dict.key(i);
    if (!key.Is(Kind::kString)) {
      return Fail(Place{.file = file}, ErrorKind::kCorrupt,
                  "key " + pickle::Print(key, {.max_bytes = kMostOfAKey}) + " is no str, expected a flat key");
    }
    auto list = AddEntry(key.AsText(), metadata.state_dict.value(i), room, file);
    if (!list) {
      if (!Excuse(list.error(), "dcp.entry-damaged", key.AsText(), file, catalog_.findings))
        return Fail(std::move(list).error().In("entry " + Quote(key.AsText())));
      AddPlaceholder(key.AsText());
    } else if (*list) {
      lists.push_back(**list);
    }
  }
  return {};
}

Result<const CatalogBuilder::EntryValue*> CatalogBuilder::ReadOnce(Value value, const std::string& file) {
  if (last_entry_ && last_entry_->identity == value.identity()) return &*last_entry_;
  last_entry_.reset();
  DCPCTL_ASSIGN(std::optional<TensorMetadata> tensor, ReadEntry(value, file, limits_));
  last_entry_ =
      EntryValue{.identity = value.identity(), .attributes = AttributeCount(value), .tensor = std::move(tensor)};
  return &*last_entry_;
}

Result<std::optional<CatalogBuilder::ChunkList>> CatalogBuilder::AddEntry(std::string_view key, Value value,
                                                                          pickle::Room& room, const std::string& file) {
  if (key.size() > limits_.name_bytes) {
    return Fail(Place{.file = file}, ErrorKind::kLimit,
                "key " + Quote(key, 60) + " has " + std::to_string(key.size()) + " bytes, expected at most " +
                    std::to_string(limits_.name_bytes));
  }
  DCPCTL_ASSIGN(const EntryValue* const read, ReadOnce(value, file));
  DCPCTL_TRY(Take(room, 2 * key.size() + read->attributes, file));
  const std::optional<TensorMetadata>& tensor = read->tensor;
  const uint32_t known = entry_by_key_.FindOrAdd(key, [&] {
    if (tensor) {
      catalog_.AddTensor(key, tensor->dtype, tensor->shape).requires_grad = tensor->requires_grad;
    } else {
      catalog_.AddObject(key);
    }
  });
  const EntryRef entry = catalog_.entries[known];
  const auto is_same = [&](const Tensor& other) {
    return other.dtype == tensor->dtype && other.shape == tensor->shape;
  };
  const bool agrees =
      entry.is_tensor == tensor.has_value() && (!entry.is_tensor || is_same(catalog_.tensors[entry.index]));
  if (!agrees) {
    return Fail(Place{.file = file}, ErrorKind::kCorrupt,
                "ranks disagree on what it is, expected the same kind, dtype and shape in the metadata of each");
  }
  if (!tensor || tensor->chunks.size() == 0) return std::optional<ChunkList>();
  return std::optional(ChunkList{.tensor = entry.index, .chunks = tensor->chunks});
}

// Stands for an entry that says nothing about itself. A tensor without elements: whoever leaves out objects should not
// leave this out with them.
void CatalogBuilder::AddPlaceholder(std::string_view key) {
  entry_by_key_.FindOrAdd(key, [&] { catalog_.AddTensor(key, DType::kFloat32, Dims{0}); });
}

Result<void> CatalogBuilder::AddChunks(const std::vector<ChunkList>& lists, pickle::Room& room, const std::string& file,
                                       Findings& findings) {
  size_t count = 0;
  size_t dims = 0;
  for (const ChunkList& list : lists) {
    // A chunk may become a finding, which has the key.
    const uint64_t key_bytes = catalog_.tensors[list.tensor].key.size();
    for (size_t i = 0; i < list.chunks.size(); ++i)
      DCPCTL_TRY(Take(room, key_bytes + AttributeCount(list.chunks[i]), file));
    count += list.chunks.size();
    dims += list.chunks.size() * catalog_.tensors[list.tensor].shape.size() * 3;
  }
  if (pending_.size() + count > UINT32_MAX)
    return Fail(Place{.file = file}, ErrorKind::kLimit, "more than 2^32 chunks in all, expected fewer");
  pending_.reserve(pending_.size() + count);
  catalog_.dims.reserve(catalog_.dims.size() + std::min(dims, kMostReserved));
  for (const ChunkList& list : lists) {
    const size_t pending = pending_.size();
    const size_t dims_before = catalog_.dims.size();
    if (auto done = AddChunksOf(list.tensor, list.chunks, file); !done) {
      const std::string_view key = catalog_.tensors[list.tensor].key;
      if (!Excuse(done.error(), "dcp.entry-damaged", key, file, findings))
        return Fail(std::move(done).error().In("entry " + Quote(key)));
      pending_.resize(pending);
      catalog_.dims.resize(dims_before);
    }
  }
  return {};
}

Result<void> CatalogBuilder::AddChunksOf(uint32_t tensor, Value chunks, const std::string& file) {
  const size_t rank = catalog_.tensors[tensor].shape.size();
  const size_t count = chunks.size();
  for (size_t i = 0; i < count; ++i) {
    DCPCTL_ASSIGN(const ChunkMetadata chunk, ReadChunk(chunks[i], file));
    const uint64_t dims = catalog_.dims.size();
    DCPCTL_ASSIGN(const size_t offsets, AppendDims(chunk.offsets, file, catalog_.dims, limits_.rank));
    DCPCTL_ASSIGN(const size_t sizes, AppendDims(chunk.sizes, file, catalog_.dims, limits_.rank));
    if (offsets != rank || sizes != rank) {
      return Fail(Place{.file = file}, ErrorKind::kCorrupt,
                  "chunk " + std::to_string(i) + " has " + std::to_string(offsets) + " offsets and " +
                      std::to_string(sizes) + " sizes, expected " + std::to_string(rank) + " of each");
    }
    catalog_.dims.resize(catalog_.dims.size() + rank);  // strides, filled by a survey of extents
    pending_.push_back({.tensor = tensor, .dims = dims});
  }
  return {};
}

Result<void> CatalogBuilder::AddRecords(Value storage_data, pickle::Room& room, const std::string& file) {
  const size_t count = storage_data.size();
  records_.reserve(records_.size() + count);
  last_path_ = {};  // of another pickle
  for (size_t i = 0; i < count; ++i) {
    const Value index = storage_data.key(i);
    const Value info = storage_data.value(i);
    DCPCTL_TRY(Take(room, AttributeCount(index) + AttributeCount(info), file));
    if (auto done = AddRecord(index, info, room, file); !done) {
      Error error = std::move(done).error().In("storage record of " + pickle::Print(index, {.max_bytes = 200}));
      if (!Excuse(error, "dcp.entry-damaged", KeyOfIndex(index), file, catalog_.findings))
        return Fail(std::move(error));
    }
  }
  return {};
}

Result<void> CatalogBuilder::AddRecord(Value index, Value info, pickle::Room& room, const std::string& file) {
  DCPCTL_ASSIGN(const StorageRecord row, ReadStorageRecord(index, info, file));
  uint64_t text_bytes = row.key.size() + row.path.size();
  for (const std::string& transform : row.transforms) text_bytes += sizeof(transform) + transform.size();
  DCPCTL_TRY(Take(room, text_bytes, file));
  const uint32_t entry = entry_by_key_.Find(row.key);
  if (entry == kNoEntry) {
    catalog_.findings.push_back({.id = "dcp.record-unused",
                                 .severity = Severity::kWarning,
                                 .file = std::filesystem::path(file).filename().string(),
                                 .key = std::string(row.key),
                                 .message = "a storage record belongs to no entry"});
    return {};
  }
  if (auto name = io::CheckRelativeName(row.path); !name) {
    const Error error = std::move(name).error().At({.file = file});
    if (!Excuse(error, "dcp.path-refused", row.key, file, catalog_.findings)) return Fail(error);
    return {};
  }
  const uint32_t file_index = FileIndex(row.path);
  Record record{.entry = entry,
                .file = file_index,
                .transforms = TransformChain(row.transforms),
                .dims = record_dims_.size(),
                .rank = kObjectRank,
                .offset = row.offset,
                .length = row.length};
  if (row.tensor_offsets) {
    DCPCTL_ASSIGN(record.rank, AppendDims(*row.tensor_offsets, file, record_dims_, limits_.rank));
    if (record.rank > limits_.rank) {
      return Fail(Place{.file = file}, ErrorKind::kCorrupt,
                  "offset has " + std::to_string(record.rank) + " dimensions, expected at most " +
                      std::to_string(limits_.rank));
    }
  }
  records_.push_back(record);
  return {};
}

Result<void> CatalogBuilder::AddPaths(const Metadata& metadata, pickle::Room& room, const std::string& file) {
  if (!metadata.planner_data) return {};
  catalog_.nested = true;
  for (size_t i = 0; i < metadata.planner_data->size(); ++i) {
    const Value key = metadata.planner_data->key(i);
    const uint32_t entry = key.Is(Kind::kString) ? entry_by_key_.Find(key.AsText()) : kNoEntry;
    if (entry == kNoEntry) continue;  // custom planners keep other things here
    auto path = ReadPath(metadata.planner_data->value(i), file);
    uint64_t text_bytes = key.AsText().size();
    for (size_t k = 0; path && k < path->size(); ++k) {
      const auto* const text = std::get_if<std::string>(&(*path)[k]);
      text_bytes += sizeof(PathElement) + (text != nullptr ? text->size() : 0);
    }
    DCPCTL_TRY(Take(room, text_bytes, file));
    if (!path) {
      if (!Excuse(path.error(), "dcp.entry-damaged", key.AsText(), file, catalog_.findings))
        return Fail(std::move(path).error());
      continue;
    }
    if (added_ == 1) catalog_.state_order.push_back(entry);
    SetPath(catalog_.entries[entry], key.AsText(), *std::move(path));
  }
  return {};
}

void CatalogBuilder::SetPath(EntryRef entry, std::string_view key, KeyPath path) {
  uint32_t& known = entry.is_tensor ? catalog_.tensors[entry.index].path : catalog_.objects[entry.index].path;
  if (known == kKeyIsPath) {
    known = catalog_.AddPath(key, std::move(path));
  } else {
    catalog_.paths[known] = std::move(path);  // as a later rank has it
  }
}

// For something that is made of the pickle and may become a finding, and has so many bytes beside, or takes as long.
Result<void> CatalogBuilder::Take(pickle::Room& room, uint64_t bytes, const std::string& file) {
  if (room.Take(kPerThing + bytes)) return {};
  return Fail(Place{.file = file}, ErrorKind::kLimit,
              "entries and chunks are more than expected of a pickle of its size: they share what they hold");
}

uint32_t CatalogBuilder::FileIndex(std::string_view path) {
  // Records of a file come together, and their paths are one string of the pickle.
  const bool is_last = !path.empty() && path.data() == last_path_.data() && path.size() == last_path_.size();
  if (is_last) return last_file_;
  if (const auto known = file_by_path_.find(path); known != file_by_path_.end()) {
    last_path_ = path;
    return last_file_ = known->second;
  }
  const auto index = static_cast<uint32_t>(catalog_.files.size());
  file_by_path_.emplace(path, index);
  SourceFile file{.path = std::string(path), .referenced = true};
  if (const auto name = ParseDataFileName(path)) {
    file.rank = name->rank;
    file.bucket = name->bucket;
  }
  catalog_.files.push_back(std::move(file));
  return index;
}

uint32_t CatalogBuilder::TransformChain(const std::vector<std::string>& transforms) {
  if (transforms.empty()) return 0;
  auto& chains = catalog_.transform_chains;
  if (chain_by_transforms_.empty()) chain_by_transforms_.emplace(chains.front(), 0);
  const auto [known, is_new] = chain_by_transforms_.try_emplace(transforms, static_cast<uint32_t>(chains.size()));
  if (is_new) chains.push_back(transforms);
  return known->second;
}

}  // namespace dcpctl::dcp
