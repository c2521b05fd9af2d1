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
  TorchOutputPlanner(const Catalog& catalog, const TorchOutputOptions& options)
      : catalog_(catalog), options_(options) {}

  Result<TorchOutput> Run(const std::string& path) {
    const auto root = BuildState();
    if (!root) return Fail(Error(root.error()).At({catalog_.root.string()}));
    auto pickle = pickle::WritePickle(*root, {.protocol = 2, .limits = {}});
    if (!pickle) return Fail(std::move(pickle).error().At({path}).In("the pickle of the state"));
    std::vector<torch::NewStorage> storages;
    for (size_t i = 0; i < slots_.size(); ++i)
      storages.push_back({.key = std::to_string(i), .bytes = BytesOf(slots_[i]), .alignment = AlignmentOf(slots_[i])});
    DCPCTL_ASSIGN(zip::ArchiveLayout layout, torch::MakeTorchLayout(*std::move(pickle), storages));
    return TorchOutput{.plan = MakePlan(path, std::move(layout)), .removed_positions = tree_.removed_positions()};
  }

 private:
  Result<pickle::Value> BuildState() {
    const bool is_one_value = options_.paths.size() == 1 && options_.paths[0].empty();
    if (is_one_value) return BuildLeaf(catalog_.entries[0]);
    size_t next = 0;
    for (size_t i = 0; i < catalog_.entries.size(); ++i) {
      if (!options_.selected[i]) continue;
      const KeyPath& path = options_.paths[next++];
      DCPCTL_TRY(tree_.Add(options_.flat ? KeyPath{JoinPath(path)} : path, catalog_.entries[i],
                           catalog_.KeyOf(catalog_.entries[i])));
    }
    if (!options_.flat) {
      for (const KeyPath& path : options_.removed) tree_.AddRemoved(path);
    }
    return tree_.Build(document_, {.int_keys = options_.int_keys}, [this](EntryRef entry) { return BuildLeaf(entry); });
  }

  Result<pickle::Value> BuildLeaf(EntryRef entry) {
    return entry.is_tensor ? AddTensor(catalog_.tensors[entry.index]) : AddObject(catalog_.objects[entry.index]);
  }

  Result<pickle::Value> AddTensor(const Tensor& tensor) {
    return torch::MakeTensor(document_, tensor.dtype, tensor.shape, AddSlot({.tensor = &tensor}));
  }

  std::string AddSlot(NewSlot slot) {
    slots_.push_back(slot);
    return std::to_string(slots_.size() - 1);
  }

  Result<pickle::Value> AddObject(const Object& object) {
    return ImportObject(document_, object, [&](const ObjectStorage& storage) {
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
  const TorchOutputOptions& options_;
  pickle::Document document_;
  StateTree tree_;
  std::vector<NewSlot> slots_;
};

}  // namespace

Result<TorchOutput> PlanTorchOutput(const Catalog& catalog, const std::string& path,
                                    const TorchOutputOptions& options) {
  return TorchOutputPlanner(catalog, options).Run(path);
}

}  // namespace dcpctl::ops
