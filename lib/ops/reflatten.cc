#include "ops/reflatten.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "ops/object_import.h"
#include "ops/state_tree.h"
#include "torch/build.h"
#include "torch/flatten.h"
#include "torch/tensor.h"

namespace dcpctl::ops {
namespace {

using pickle::Value;

// In the nested state a tensor stands for itself: a tensor whose storage is called after its entry. Storages inside
// objects are called by their number. What is on the meta device keeps whatever name it has.
constexpr std::string_view kEntryPrefix = "entry:";
constexpr std::string_view kStoragePrefix = "storage:";

std::optional<size_t> NumberAfter(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + prefix.size(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

struct Reference {
  std::optional<size_t> entry;
  std::optional<size_t> storage;
};

Reference Resolve(std::string_view storage_key, std::string_view location) {
  if (location == "meta") return {};
  return {.entry = NumberAfter(kEntryPrefix, storage_key), .storage = NumberAfter(kStoragePrefix, storage_key)};
}

class Reflattener {
 public:
  Reflattener(FlatEntries entries, const Limits& limits)
      : old_(std::move(entries)), limits_(limits), root_(old_.catalog.root.string()) {}

  Result<Reflattened> Run(Flattening rules) {
    DCPCTL_ASSIGN(const Value root, BuildState());
    DCPCTL_ASSIGN(std::vector<torch::Leaf> leaves,
                  torch::Flatten(root, root_, limits_, rules, torch::EmptyMappings::kKeep));
    // Chunks, of which there may be millions, go over; what is made anew stays behind to be looked up.
    out_.catalog = std::move(old_.catalog);
    old_.catalog.pool = out_.catalog.pool;
    old_.catalog.entries = std::exchange(out_.catalog.entries, {});
    old_.catalog.tensors = std::exchange(out_.catalog.tensors, {});
    old_.catalog.objects = std::exchange(out_.catalog.objects, {});
    old_.catalog.paths = std::exchange(out_.catalog.paths, {});
    out_.catalog.state_order.clear();  // numbers of entries that are no more; the new ones come as the state has them
    for (torch::Leaf& leaf : leaves) DCPCTL_TRY(AddLeaf(std::move(leaf)));
    return std::move(out_);
  }

 private:
  Result<Value> BuildState() {
    for (size_t e = 0; e < old_.paths.size(); ++e) {
      const EntryRef entry = old_.catalog.entries[e];
      if (old_.paths[e].empty()) continue;
      DCPCTL_TRY(tree_.Add(old_.paths[e], EntryRef(entry.is_tensor, e), old_.catalog.KeyOf(entry)));
      if (!entry.is_tensor) object_at_.emplace(JoinPath(old_.paths[e]), e);
    }
    for (const KeyPath& path : old_.removed) tree_.AddRemoved(path);
    return tree_.Build(state_, {}, [this](EntryRef at) -> Result<Value> {
      const EntryRef entry = old_.catalog.entries[at.index];
      if (!entry.is_tensor) return AddObjectToState(old_.catalog.objects[entry.index]);
      const Tensor& tensor = old_.catalog.tensors[entry.index];
      return torch::MakeTensor(state_, tensor.dtype, tensor.shape,
                               std::string(kEntryPrefix) + std::to_string(at.index));
    });
  }

  Result<Value> AddObjectToState(const Object& object) {
    return ImportObject(state_, object, [this](const ObjectStorage& storage) {
      storages_.push_back(storage);
      return std::string(kStoragePrefix) + std::to_string(storages_.size() - 1);
    });
  }

  Result<void> AddLeaf(torch::Leaf leaf) {
    const auto same = object_at_.find(leaf.key);
    if (same != object_at_.end() && old_.paths[same->second] == leaf.path) {
      AddObject(std::move(leaf), old_.catalog.objects[old_.catalog.entries[same->second].index], false);
      return {};
    }
    if (torch::LooksLikeTensor(leaf.value)) {
      if (auto tensor = torch::ReadPlainTensor(leaf.value, root_)) {
        const Reference of = Resolve(tensor->storage_key, tensor->location);
        if (of.entry) AddTensor(std::move(leaf), old_.catalog.entries[*of.entry].index);
        if (of.storage) AddInnerTensor(std::move(leaf), *tensor, storages_[*of.storage]);
        if (of.entry || of.storage) return {};
      }
    }
    DCPCTL_ASSIGN(Object object, CopyOut(leaf.value));
    AddObject(std::move(leaf), std::move(object), true);
    return {};
  }

  void AddTensor(torch::Leaf leaf, uint32_t index) {
    const Tensor& old = old_.catalog.tensors[index];
    Tensor& tensor = out_.catalog.AddTensor(leaf.key, old.dtype, old.shape);
    tensor.requires_grad = old.requires_grad;
    tensor.stored_dtype = old.stored_dtype;
    tensor.first_chunk = old.first_chunk;
    tensor.chunk_count = old.chunk_count;
    tensor.path = AddPath(std::move(leaf), false);
  }

  // A tensor that was part of an object.
  void AddInnerTensor(torch::Leaf leaf, const torch::TensorValue& value, const ObjectStorage& storage) {
    Catalog& catalog = out_.catalog;
    Chunk chunk{.dims = catalog.dims.size(),
                .offset = storage.record_offset,
                .length = storage.record_length,
                .file = storage.file,
                .stored = storage.stored,
                .surveyed = true};
    chunk.stored.first_element = value.first_element;
    catalog.dims.insert(catalog.dims.end(), value.shape.size(), 0);
    catalog.dims.insert(catalog.dims.end(), value.shape.begin(), value.shape.end());
    catalog.dims.insert(catalog.dims.end(), value.strides.begin(), value.strides.end());
    Tensor& tensor = catalog.AddTensor(leaf.key, value.dtype, value.shape);
    tensor.requires_grad = value.requires_grad;
    tensor.first_chunk = static_cast<uint32_t>(catalog.chunks.size());
    tensor.chunk_count = 1;
    tensor.path = AddPath(std::move(leaf), true);
    catalog.chunks.push_back(chunk);
  }

  void AddObject(torch::Leaf leaf, Object from, bool made) {
    Object& object = out_.catalog.AddObject(leaf.key);
    from.key = object.key;
    object = std::move(from);
    object.path = AddPath(std::move(leaf), made);
  }

  uint32_t AddPath(torch::Leaf leaf, bool made) {
    out_.made.push_back(made);
    out_.paths.push_back(leaf.path);
    return out_.catalog.AddPath(leaf.key, std::move(leaf.path));
  }

  // A part of the state, or objects put together, as an object of its own.
  Result<Object> CopyOut(Value value) {
    auto copy = std::make_shared<ObjectValue>();
    std::unordered_set<size_t> listed;
    pickle::Document::Importer importer(
        copy->document,
        [&](Value id, pickle::Document& into) -> Result<Value> {
          const Reference of = Resolve(id[2].AsText(), id[3].AsText());
          if (of.entry) return Fail(ErrorKind::kInternal, "a tensor entry became part of an object");
          if (of.storage && listed.insert(*of.storage).second) {
            copy->storages.push_back(storages_[*of.storage]);
            copy->storages.back().key = std::string(id[2].AsText());
          }
          return into.Tuple({into.String(id[0].AsText()), into.Global(id[1].module(), id[1].name()),
                             into.String(id[2].AsText()), into.String(id[3].AsText()), into.Int(id[4].AsInt())});
        },
        limits_);
    DCPCTL_ASSIGN(const Value root, importer.Import(value));
    copy->document.SetRoot(root);
    Object object;
    object.value = std::move(copy);
    return object;
  }

  FlatEntries old_;
  const Limits& limits_;
  const std::string root_;  // for messages
  pickle::Document state_;
  StateTree tree_;
  std::vector<ObjectStorage> storages_;  // of all objects, by number
  TextMap<size_t> object_at_;            // entries that are objects, by new key
  Reflattened out_;
};

}  // namespace

Result<Reflattened> Reflatten(FlatEntries entries, Flattening rules, const Limits& limits) {
  return Reflattener(std::move(entries), limits).Run(rules);
}

bool IsWholeContainer(const Object& object, const Limits& limits) {
  return object.value && torch::IsTakenApart(object.value->document.root(), limits);
}

}  // namespace dcpctl::ops
