#include "ops/torch_output.h"

#include <utility>

#include "base/result.h"
#include "ops/object_import.h"
#include "ops/state_tree.h"
#include "plan/plan_builder.h"
#include "torch/build.h"
#include "torch/layout.h"

namespace dcpctl::ops {
namespace {

// A storage that starts on a block in its source and is large starts on one in the output, so that a file
// system that can share blocks does.
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kWorthSharing = 16 * kBlock;
constexpr uint64_t kTorchAlignment = 64;

// A storage of the output: a tensor of the catalog, or a storage inside an object.
struct NewSlot {
  const Tensor* tensor = nullptr;
  const Object* object = nullptr;
  const ObjectStorage* storage = nullptr;
};

class TorchOutputPlanner {
 public:
  TorchOutputPlanner(const Catalog& catalog, TorchOutputOptions options)
      : catalog_(catalog), options_(std::move(options)) {}

  Result<TorchOutput> Run(const std::string& path) {
    DCPCTL_ASSIGN(std::string pickle, WriteState(path));
    std::vector<torch::NewStorage> storages;
    for (const NewSlot& slot : slots_) storages.push_back({.bytes = BytesOf(slot), .alignment = AlignmentOf(slot)});
    DCPCTL_ASSIGN(zip::ArchiveLayout layout, torch::MakeTorchLayout(std::move(pickle), storages));
    return TorchOutput{.plan = MakePlan(path, std::move(layout)), .removed_positions = removed_positions_};
  }

 private:
  // With millions of entries each form of the state is hundreds of megabytes, and goes as soon as the next one is
  // there: paths, tree, document, pickle.
  Result<std::string> WriteState(const std::string& path) {
    pickle::Document document;
    const auto root = BuildState(document);
    if (!root) return Fail(Error(root.error()).At({catalog_.root.string()}));
    auto pickle = pickle::WritePickle(*root, {.protocol = 2, .limits = {}});
    if (!pickle) return Fail(std::move(pickle).error().At({path}).In("the pickle of the state"));
    return pickle;
  }

  Result<pickle::Value> BuildState(pickle::Document& document) {
    const bool is_one_value = options_.paths.size() == 1 && options_.paths[0].empty();
    if (is_one_value) return BuildLeaf(document, catalog_.entries[0]);
    StateTree tree;
    DCPCTL_TRY(FillTree(tree));
    DCPCTL_ASSIGN(const pickle::Value root, tree.Build(document, {.int_keys = options_.int_keys},
                                                       [&](EntryRef entry) { return BuildLeaf(document, entry); }));
    removed_positions_ = tree.removed_positions();
    return root;
  }

  Result<void> FillTree(StateTree& tree) {
    const std::vector<KeyPath> paths = std::move(options_.paths);
    size_t next = 0;
    for (size_t i = 0; i < catalog_.entries.size(); ++i) {
      if (!options_.selected[i]) continue;
      const KeyPath& path = paths[next++];
      DCPCTL_TRY(tree.Add(options_.flat ? KeyPath{JoinPath(path)} : path, catalog_.entries[i],
                          catalog_.KeyOf(catalog_.entries[i])));
    }
    if (options_.flat) return {};
    for (const KeyPath& path : options_.removed) tree.AddRemoved(path);
    return {};
  }

  Result<pickle::Value> BuildLeaf(pickle::Document& document, EntryRef entry) {
    return entry.is_tensor ? AddTensor(document, catalog_.tensors[entry.index])
                           : AddObject(document, catalog_.objects[entry.index]);
  }

  Result<pickle::Value> AddTensor(pickle::Document& document, const Tensor& tensor) {
    return torch::MakeTensor(document, tensor.dtype, tensor.shape, AddSlot({.tensor = &tensor}));
  }

  std::string AddSlot(NewSlot slot) {
    slots_.push_back(slot);
    return std::to_string(slots_.size() - 1);
  }

  Result<pickle::Value> AddObject(pickle::Document& document, const Object& object) {
    return ImportObject(document, object, [&](const ObjectStorage& storage) {
      return AddSlot({.object = &object, .storage = &storage});
    });
  }

  static uint64_t BytesOf(const NewSlot& slot) {
    return slot.tensor != nullptr ? *Numel(slot.tensor->shape) * ItemBytes(slot.tensor->dtype)
                                  : slot.storage->stored.bytes;
  }

  uint64_t AlignmentOf(const NewSlot& slot) const {
    if (slot.tensor == nullptr || BytesOf(slot) < kWorthSharing || slot.tensor->chunk_count == 0)
      return kTorchAlignment;
    const StoredTensor& first = catalog_.ChunksOf(*slot.tensor)[0].stored;
    return first.codec == Codec::kNone && first.offset % kBlock == 0 ? kBlock : kTorchAlignment;
  }

  Plan MakePlan(const std::string& path, zip::ArchiveLayout layout) {
    PlanBuilder builder(catalog_);
    const uint32_t output = builder.AddOutput(path, layout.total_bytes);
    std::vector<uint32_t> region_of_slot(slots_.size());
    for (const zip::PlacedSlot& placed : layout.slots) {
      const NewSlot& slot = slots_[placed.id];
      region_of_slot[placed.id] = slot.tensor != nullptr
                                      ? builder.AddTensor(output, placed.offset, *slot.tensor)
                                      : builder.AddStorage(output, placed.offset, *slot.object, *slot.storage);
    }
    for (zip::Literal& literal : layout.literals) {
      Text text{.bytes = std::move(literal.bytes), .holes = {}};
      for (const zip::CrcHole& hole : literal.holes)
        text.holes.push_back({.pos = hole.pos, .region = region_of_slot[hole.slot]});
      builder.AddLiteral({.output = output, .text = builder.AddText(std::move(text)), .offset = literal.offset});
    }
    return std::move(builder).Finish();
  }

  const Catalog& catalog_;
  TorchOutputOptions options_;
  std::vector<NewSlot> slots_;
  uint64_t removed_positions_ = 0;
};

}  // namespace

Result<TorchOutput> PlanTorchOutput(const Catalog& catalog, const std::string& path, TorchOutputOptions options) {
  return TorchOutputPlanner(catalog, std::move(options)).Run(path);
}

}  // namespace dcpctl::ops
