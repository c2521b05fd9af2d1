#include "ops/dcp_output.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
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
        form_of_(catalog.entries.size()),
        turn_(TurnOfEntries(catalog)) {}

  Result<Plan> Run() {
    builder_.Reserve(options_.items.size(), options_.dims.size() / 2);
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
    builder_.AddLiteral({.output = output, .text = builder_.AddText({.bytes = std::move(bytes), .holes = {}})});
    return std::move(builder_).Finish();
  }

  Result<CompressedOutput> RunCompressed() {
    CompressedOutput output;
    for (uint32_t file = 0; file < options_.files.size(); ++file) {
      for (const size_t i : ItemsOf(file)) {
        DCPCTL_ASSIGN(const Form* const form, FormOf(options_.items[i]));
        // Nothing of it is on a boundary once it is compressed: it starts where its output does.
        const uint32_t number = builder_.AddOutput(options_.files[file].name, form->layout.archive.total_bytes);
        AddItem(number, 0, options_.items[i], *form);
        ForgetObjects();
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
  // An item as it is wherever it lies.
  struct Form {
    dcp::ItemLayout layout;
    std::vector<uint32_t> texts;                   // of the plan, for the literals of the layout
    std::vector<const ObjectStorage*> storages{};  // of an object: what fills its slots
  };

  // Told apart without a copy of the sizes.
  struct IsBefore {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.first != b.first) return a.first < b.first;
      return std::ranges::lexicographical_compare(a.second, b.second);
    }
  };

  using TensorForms = std::map<std::pair<DType, Dims>, Form, IsBefore>;

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

  Result<void> AddDataFile(const std::string& name, const std::vector<size_t>& order) {
    ForgetObjects();
    std::vector<const Form*> forms;
    forms.reserve(order.size());
    uint64_t end = 0;
    for (const size_t i : order) {
      DCPCTL_ASSIGN(const Form* const form, FormOf(options_.items[i]));
      forms.push_back(form);
      places_[i] = {.offset = dcp::StartOf(form->layout, end), .length = form->layout.archive.total_bytes};
      end = places_[i].offset + places_[i].length;
    }
    const uint32_t output = builder_.AddOutput(name, end);
    end = 0;
    for (size_t n = 0; n < order.size(); ++n) {
      const dcp::PlacedItem& place = places_[order[n]];
      if (place.offset > end) builder_.AddGap({.output = output, .offset = end, .bytes = place.offset - end});
      AddItem(output, place.offset, options_.items[order[n]], *forms[n]);
      end = place.offset + place.length;
    }
    return {};
  }

  void AdoptDataFile(const DcpFile& file, const std::vector<size_t>& items) {
    for (const size_t i : items) places_[i] = options_.items[i].place;
    if (options_.data != DataPolicy::kNone)
      builder_.AddCopy(file.adopted, file.name, options_.data == DataPolicy::kLink);
  }

  Result<const Form*> FormOf(const DcpItem& item) {
    if (!IsTensor(item)) return FormOf(ObjectOf(item));
    const DType dtype = TensorOf(item).dtype;
    const DimsView sizes = options_.BoxOf(item).sizes;
    const TensorForms::value_type*& last = form_of_[item.entry];
    if (last != nullptr && std::ranges::equal(last->first.second, sizes)) return &last->second;
    const auto known = tensors_.find(std::pair(dtype, sizes));
    if (known != tensors_.end()) return &(last = &*known)->second;
    pickle::Document document;
    DCPCTL_ASSIGN(std::string pickle,
                  pickle::WritePickle(torch::MakeTensor(document, dtype, sizes, "0"), {.protocol = 2, .limits = {}}));
    DCPCTL_ASSIGN(Form form, MakeForm({.pickle = std::move(pickle),
                                       .storage_bytes = {*Numel(sizes) * ItemBytes(dtype)},
                                       .is_tensor = true}));
    last = &*tensors_.emplace(std::pair(dtype, Dims(sizes.begin(), sizes.end())), std::move(form)).first;
    return &last->second;
  }

  // One for all entries that have the same value.
  Result<const Form*> FormOf(const Object& object) {
    const Form*& known = form_of_value_[object.value.get()];
    if (known != nullptr) return known;
    pickle::Document document;
    dcp::NewItem item;
    std::vector<const ObjectStorage*> storages;
    DCPCTL_ASSIGN(const pickle::Value value, ImportObject(document, object, [&](const ObjectStorage& storage) {
                    storages.push_back(&storage);
                    item.storage_bytes.push_back(storage.stored.bytes);
                    return std::to_string(storages.size() - 1);
                  }));
    auto pickle = pickle::WritePickle(value, {.protocol = 2, .limits = {}});
    if (!pickle)
      return Fail(std::move(pickle).error().At({PathOf(catalog_, object.file)}).In("entry " + Quote(object.key)));
    item.pickle = *std::move(pickle);
    DCPCTL_ASSIGN(Form form, MakeForm(item));
    form.storages = std::move(storages);
    return known = &objects_.emplace_back(std::move(form));
  }

  void ForgetObjects() {
    objects_.clear();
    form_of_value_.clear();
  }

  Result<Form> MakeForm(const dcp::NewItem& item) {
    DCPCTL_ASSIGN(dcp::ItemLayout layout, dcp::MakeItemLayout(item));
    std::vector<uint32_t> region_of(item.storage_bytes.size());  // each slot becomes one
    for (uint32_t i = 0; i < layout.archive.slots.size(); ++i) region_of[layout.archive.slots[i].id] = i;
    std::vector<uint32_t> texts;
    for (zip::Literal& literal : layout.archive.literals) {
      Text text{.bytes = std::move(literal.bytes), .holes = {}};
      for (const zip::CrcHole& hole : literal.holes)
        text.holes.push_back({.pos = hole.pos, .region = region_of[hole.slot]});
      texts.push_back(builder_.AddText(std::move(text)));
    }
    return Form{.layout = std::move(layout), .texts = std::move(texts)};
  }

  void AddItem(uint32_t output, uint64_t start, const DcpItem& item, const Form& form) {
    const auto first_region = static_cast<uint32_t>(builder_.region_count());
    const zip::ArchiveLayout& archive = form.layout.archive;
    for (const zip::PlacedSlot& slot : archive.slots) {
      if (IsTensor(item)) {
        builder_.AddBox(output, start + slot.offset, TensorOf(item), options_.BoxOf(item));
      } else {
        builder_.AddStorage(output, start + slot.offset, ObjectOf(item), *form.storages[slot.id]);
      }
    }
    for (size_t i = 0; i < form.texts.size(); ++i) {
      builder_.AddLiteral({.output = output,
                           .text = form.texts[i],
                           .offset = start + archive.literals[i].offset,
                           .first_region = first_region});
    }
  }

  Result<dcp::NewMetadata> DescribeEntries() {
    dcp::NewMetadata metadata{
        .files = {}, .transform_chains = catalog_.transform_chains, .entries = {}, .nested = options_.nested};
    for (const DcpFile& file : options_.files) metadata.files.push_back(file.name);
    std::vector<size_t> items(catalog_.entries.size());
    for (const DcpItem& item : options_.items) ++items[item.entry];
    metadata.entries.reserve(catalog_.entries.size());
    std::vector<size_t> position(catalog_.entries.size(), SIZE_MAX);
    TextMap<uint32_t> keys;
    for (size_t i = 0; i < options_.items.size(); ++i) {
      const DcpItem& item = options_.items[i];
      if (position[item.entry] == SIZE_MAX) {
        position[item.entry] = metadata.entries.size();
        DCPCTL_TRY(CheckType(item));
        metadata.entries.push_back(Describe(item));
        metadata.entries.back().chunks.reserve(items[item.entry]);
        const auto [found, is_new] = keys.emplace(metadata.entries.back().key, item.entry);
        if (!is_new) {
          return Fail(ErrorKind::kMismatch, "entries " + Quote(catalog_.KeyOf(catalog_.entries[found->second])) +
                                                " and " + Quote(catalog_.KeyOf(catalog_.entries[item.entry])) +
                                                " both get the key " + Quote(found->first) + ", expected one each");
        }
      }
      metadata.entries[position[item.entry]].chunks.push_back(
          {.box = options_.BoxOf(item), .file = item.file, .place = places_[i], .transforms = item.transforms});
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
  std::vector<dcp::PlacedItem> places_;        // by item
  // Ranks have boxes of the same few sizes.
  TensorForms tensors_;
  std::vector<const TensorForms::value_type*> form_of_;  // what was found last, by entry
  std::deque<Form> objects_;                             // of the data file that is being laid out
  std::unordered_map<const ObjectValue*, const Form*> form_of_value_;
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
