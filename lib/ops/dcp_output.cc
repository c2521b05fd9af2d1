#include "ops/dcp_output.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcp/layout.h"
#include "dcp/naming.h"
#include "ops/object_import.h"
#include "plan/plan_builder.h"
#include "torch/build.h"

namespace dcpctl::ops {
namespace {

// When the state dict comes to each entry. What it does not have comes last, as the catalog lists it.
std::vector<size_t> TurnOfEntries(const Catalog& catalog) {
  std::vector<size_t> turn(catalog.entries.size(), SIZE_MAX);
  size_t next = 0;
  for (const uint32_t entry : catalog.state_order) turn[entry] = next++;
  for (size_t& one : turn) {
    if (one == SIZE_MAX) one = next++;
  }
  return turn;
}

class DcpOutputPlanner {
 public:
  DcpOutputPlanner(const Catalog& catalog, const DcpOutputOptions& options)
      : catalog_(catalog),
        options_(options),
        builder_(catalog),
        places_(options.items.size()),
        turn_(TurnOfEntries(catalog)) {}

  Result<Plan> Run() {
    for (uint32_t file = 0; file < options_.files.size(); ++file) {
      if (options_.files[file].adopted == kNoFile) {
        DCPCTL_TRY(AddDataFile(options_.files[file].name, ItemsOf(file)));
      } else {
        AdoptDataFile(options_.files[file], ItemsOf(file));
      }
    }
    DCPCTL_ASSIGN(const dcp::NewMetadata metadata, DescribeEntries());
    DCPCTL_ASSIGN(std::string bytes, dcp::WriteMetadata(metadata, options_.compat));
    const uint32_t output = builder_.AddOutput(std::string(dcp::kMetadataName), bytes.size());
    builder_.AddLiteral({.output = output, .offset = 0, .bytes = std::move(bytes), .holes = {}});
    return std::move(builder_).Finish();
  }

  Result<CompressedOutput> RunCompressed() {
    CompressedOutput output;
    for (uint32_t file = 0; file < options_.files.size(); ++file) {
      for (const size_t i : ItemsOf(file)) {
        fillings_.clear();
        DCPCTL_ASSIGN(dcp::NewItem item, MakeItem(options_.items[i]));
        item.is_tensor = false;  // nothing of it is on a boundary once it is compressed
        DCPCTL_ASSIGN(dcp::DataFileLayout layout, dcp::MakeDataFileLayout({item}));
        Place(options_.files[file].name, std::move(layout));
        output.items.push_back(i);
      }
    }
    DCPCTL_TRY(DescribeEntries());  // what is wrong with it shows before anything is written
    output.plan = std::move(builder_).Finish();
    return output;
  }

  Result<std::string> DescribeCompressed(std::span<const size_t> items, std::span<const dcp::PlacedItem> places) {
    for (size_t i = 0; i < places.size(); ++i) places_[items[i]] = places[i];
    DCPCTL_ASSIGN(dcp::NewMetadata metadata, DescribeEntries());
    metadata.transform_chains = {{}, {std::string(dcp::kZstdTransform)}};
    for (dcp::NewEntry& entry : metadata.entries) {
      for (dcp::NewChunk& chunk : entry.chunks) chunk.transforms = 1;
    }
    return dcp::WriteMetadata(metadata, options_.compat);
  }

 private:
  // What fills a slot of the data file that is being laid out.
  struct Filling {
    const DcpItem* tensor = nullptr;
    const Object* object = nullptr;
    const ObjectStorage* storage = nullptr;
  };

  bool IsTensor(const DcpItem& item) const { return catalog_.entries[item.entry].is_tensor; }
  const Tensor& TensorOf(const DcpItem& item) const { return catalog_.tensors[catalog_.entries[item.entry].index]; }
  const Object& ObjectOf(const DcpItem& item) const { return catalog_.objects[catalog_.entries[item.entry].index]; }

  void SortItems(std::vector<size_t>& order) const {
    if (options_.order == ItemOrder::kObjectsFirst) {
      std::stable_partition(order.begin(), order.end(), [this](size_t i) { return !IsTensor(options_.items[i]); });
    } else {
      std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
        return turn_[options_.items[a].entry] < turn_[options_.items[b].entry];
      });
    }
  }

  // In the order in which they lie in the file.
  const std::vector<size_t>& ItemsOf(uint32_t file) {
    if (items_of_.empty()) {
      items_of_.resize(options_.files.size());
      for (size_t i = 0; i < options_.items.size(); ++i) items_of_[options_.items[i].file].push_back(i);
      for (uint32_t f = 0; f < items_of_.size(); ++f) {
        if (options_.files[f].adopted == kNoFile) SortItems(items_of_[f]);
      }
    }
    return items_of_[file];
  }

  Result<dcp::NewItem> MakeItem(const DcpItem& item) {
    return IsTensor(item) ? MakeTensorItem(item) : MakeObjectItem(ObjectOf(item));
  }

  Result<void> AddDataFile(const std::string& name, const std::vector<size_t>& order) {
    fillings_.clear();
    std::vector<dcp::NewItem> items;
    for (const size_t i : order) {
      DCPCTL_ASSIGN(dcp::NewItem item, MakeItem(options_.items[i]));
      items.push_back(std::move(item));
    }
    DCPCTL_ASSIGN(dcp::DataFileLayout layout, dcp::MakeDataFileLayout(items));
    for (size_t i = 0; i < order.size(); ++i) places_[order[i]] = layout.items[i];
    Place(name, std::move(layout));
    return {};
  }

  void AdoptDataFile(const DcpFile& file, const std::vector<size_t>& items) {
    for (const size_t i : items) places_[i] = options_.items[i].place;
    if (options_.data != DataPolicy::kNone)
      builder_.AddCopy(file.adopted, file.name, options_.data == DataPolicy::kLink);
  }

  Result<dcp::NewItem> MakeTensorItem(const DcpItem& item) {
    const Tensor& tensor = TensorOf(item);
    std::string& bytes = tensor_pickles_[{tensor.dtype, item.box.sizes}];
    if (bytes.empty()) {
      pickle::Document document;
      DCPCTL_ASSIGN(bytes, pickle::WritePickle(torch::MakeTensor(document, tensor.dtype, item.box.sizes, "0"),
                                               {.protocol = 2, .limits = {}}));
    }
    fillings_.push_back({.tensor = &item});
    return dcp::NewItem{
        .pickle = bytes, .storage_bytes = {*Numel(item.box.sizes) * ItemBytes(tensor.dtype)}, .is_tensor = true};
  }

  Result<dcp::NewItem> MakeObjectItem(const Object& object) {
    pickle::Document document;
    dcp::NewItem item;
    DCPCTL_ASSIGN(const pickle::Value value, ImportObject(document, object, [&](const ObjectStorage& storage) {
                    fillings_.push_back({.object = &object, .storage = &storage});
                    item.storage_bytes.push_back(storage.stored.bytes);
                    return std::to_string(item.storage_bytes.size() - 1);
                  }));
    DCPCTL_ASSIGN(item.pickle, pickle::WritePickle(value, {.protocol = 2, .limits = {}}));
    return item;
  }

  void Place(const std::string& name, dcp::DataFileLayout file) {
    zip::ArchiveLayout& layout = file.bytes;
    const uint32_t output = builder_.AddOutput(name, layout.total_bytes);
    for (const dcp::DataFileGap& gap : file.gaps)
      builder_.AddGap({.output = output, .offset = gap.offset, .bytes = gap.bytes});
    std::unordered_map<zip::SlotId, uint32_t> regions;
    for (const zip::PlacedSlot& slot : layout.slots) {
      const Filling& filling = fillings_[slot.id];
      regions[slot.id] =
          filling.tensor != nullptr
              ? builder_.AddBox(output, slot.offset, TensorOf(*filling.tensor), filling.tensor->box.view())
              : builder_.AddStorage(output, slot.offset, *filling.object, *filling.storage);
    }
    for (zip::Literal& literal : layout.literals) {
      Literal planned{.output = output, .offset = literal.offset, .bytes = std::move(literal.bytes), .holes = {}};
      for (const zip::CrcHole& hole : literal.holes)
        planned.holes.push_back({.pos = hole.pos, .region = regions.at(hole.slot)});
      builder_.AddLiteral(std::move(planned));
    }
  }

  Result<dcp::NewMetadata> DescribeEntries() {
    dcp::NewMetadata metadata{
        .files = {}, .transform_chains = catalog_.transform_chains, .entries = {}, .nested = options_.nested};
    for (const DcpFile& file : options_.files) metadata.files.push_back(file.name);
    std::vector<size_t> position(catalog_.entries.size(), SIZE_MAX);
    std::unordered_map<std::string, uint32_t> keys;
    for (size_t i = 0; i < options_.items.size(); ++i) {
      const DcpItem& item = options_.items[i];
      if (position[item.entry] == SIZE_MAX) {
        position[item.entry] = metadata.entries.size();
        DCPCTL_TRY(CheckType(item));
        metadata.entries.push_back(Describe(item));
        const auto [found, is_new] = keys.emplace(metadata.entries.back().key, item.entry);
        if (!is_new) {
          return Fail(ErrorKind::kMismatch, "entries " + Quote(catalog_.KeyOf(catalog_.entries[found->second])) +
                                                " and " + Quote(catalog_.KeyOf(catalog_.entries[item.entry])) +
                                                " both get the key " + Quote(found->first) + ", expected one each");
        }
      }
      metadata.entries[position[item.entry]].chunks.push_back(
          {.box = item.box.view(), .file = item.file, .place = places_[i], .transforms = item.transforms});
    }
    return metadata;
  }

  Result<void> CheckType(const DcpItem& item) const {
    if (!IsTensor(item)) return {};
    auto checked = dcp::CheckDType(options_.compat, TensorOf(item).dtype);
    if (!checked) return Fail(std::move(checked).error().In("entry " + Quote(TensorOf(item).key)));
    return checked;
  }

  dcp::NewEntry Describe(const DcpItem& item) const {
    dcp::NewEntry entry{.key = JoinPath(options_.paths[item.entry]),
                        .path = options_.paths[item.entry],
                        .is_tensor = IsTensor(item),
                        .shape = {},
                        .chunks = {}};
    if (!entry.is_tensor) return entry;
    const Tensor& tensor = TensorOf(item);
    entry.dtype = tensor.dtype;
    entry.requires_grad = tensor.requires_grad;
    entry.shape = tensor.shape;
    return entry;
  }

  const Catalog& catalog_;
  const DcpOutputOptions& options_;
  PlanBuilder builder_;
  std::vector<std::vector<size_t>> items_of_;  // by file; see ItemsOf
  std::vector<Filling> fillings_;
  std::vector<dcp::PlacedItem> places_;  // by item
  // Ranks have boxes of the same few sizes.
  std::map<std::pair<DType, Dims>, std::string> tensor_pickles_;
  const std::vector<size_t> turn_;  // of each entry, in the order of the state
};

}  // namespace

Result<Plan> PlanDcpOutput(const Catalog& catalog, const DcpOutputOptions& options) {
  return DcpOutputPlanner(catalog, options).Run();
}

Result<CompressedOutput> PlanCompressedOutput(const Catalog& catalog, const DcpOutputOptions& options) {
  return DcpOutputPlanner(catalog, options).RunCompressed();
}

Result<std::string> MakeCompressedMetadata(const Catalog& catalog, const DcpOutputOptions& options,
                                           std::span<const size_t> items, std::span<const dcp::PlacedItem> places) {
  return DcpOutputPlanner(catalog, options).DescribeCompressed(items, places);
}

}  // namespace dcpctl::ops
