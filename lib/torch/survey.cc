#include "torch/survey.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "pickle/policy.h"
#include "pickle/room.h"
#include "torch/archive.h"
#include "torch/flatten.h"
#include "torch/legacy.h"
#include "torch/object.h"
#include "torch/storage_ids.h"
#include "torch/storages.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

// A storage to find; tensors that share it wait for the same one.
struct Wanted {
  std::string key;
  uint64_t bytes;
  Result<StoredTensor> stored;
};

// A chunk that gets its extents from wanted_[wanted].
struct Pending {
  uint64_t chunk;
  uint64_t tensor;
  uint64_t first_element;
  size_t wanted;
};

// Copies for who only looks. Objects may share what they hold, so that all copies together may take much more than the
// pickle; a few objects of a real checkpoint take a few KiB.
constexpr uint64_t kMaxLookedAtBytes = uint64_t{64} << 20;
// And for who carries them on. What is not shared needs about as much as its source; a small one is mostly overhead.
constexpr uint64_t kRoomPerByte = 16;
constexpr uint64_t kSmallBytes = 1024;

// ["a"]["b"][0], as Python would index it.
std::string Describe(const KeyPath& path) {
  std::string text;
  for (const PathElement& element : path) {
    const auto* name = std::get_if<std::string>(&element);
    text += "[" + (name != nullptr ? Quote(*name) : std::to_string(std::get<uint64_t>(element))) + "]";
  }
  return text;
}

using Details = std::vector<std::pair<std::string, std::string>>;

// A file in either form.
struct TorchFile {
  const pickle::Document& document;
  const Storages& storages;
  uint64_t bytes;
  uint64_t pickle_offset;
  uint64_t pickle_bytes;
  uint64_t stored_pickle_bytes;  // less when it is compressed
  Details details;               // beside the type of the root
};

class TorchSurvey {
 public:
  TorchSurvey(const TorchFile& file, const SurveyOptions& options)
      : file_(file), options_(options), room_(file.document.content_bytes(), kRoomPerByte) {}

  Result<Catalog> Run() {
    // Who only looks may look at anything; what is carried on is checked.
    if (options_.depth == SurveyDepth::kExtents)
      DCPCTL_TRY(pickle::CheckGlobals(file_.document, name(), options_.allow_globals));
    DCPCTL_TRY(AddLeaves());
    wanted_by_name_ = {};
    DCPCTL_TRY(LocateWanted());
    PlaceChunks();
    DescribeFile();
    return std::move(catalog_);
  }

 private:
  [[nodiscard]] const std::string& name() const { return file_.storages.file(); }

  Result<void> AddLeaves() {
    DCPCTL_ASSIGN(std::vector<Leaf> leaves,
                  Flatten(file_.document.root(), name(), options_.limits, options_.flattening));
    WarnOfUncertainKeys(leaves);
    const std::vector<bool> repeats = FindRepeats(leaves);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (options_.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped");
      if (!repeats[i]) DCPCTL_TRY(AddLeaf(std::move(leaves[i])));
    }
    return {};
  }

  void WarnOfUncertainKeys(const std::vector<Leaf>& leaves) {
    const auto is_uncertain = [](const Leaf& leaf) { return !leaf.key_is_certain; };
    const auto first = std::find_if(leaves.begin(), leaves.end(), is_uncertain);
    if (first == leaves.end()) return;
    const auto more = std::count_if(std::next(first), leaves.end(), is_uncertain);
    AddFinding("torch.uncertain-key", Severity::kWarning, first->key,
               Error(ErrorKind::kUnsupported, Place{name(), file_.pickle_offset},
                     Describe(first->path) + (more > 0 ? " and " + std::to_string(more) + " more have" : " has") +
                         " a dict key of a class of its own, expected text or numbers")
                   .Advise("PyTorch asks the class for the text and may get another; use text as keys"));
  }

  // Leaves whose key another one before them has. PyTorch refuses to save such a state.
  std::vector<bool> FindRepeats(const std::vector<Leaf>& leaves) {
    std::vector<size_t> order(leaves.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return leaves[a].key < leaves[b].key; });
    std::vector<bool> repeats(leaves.size());
    for (size_t i = 1; i < order.size(); ++i) {
      const Leaf& leaf = leaves[order[i]];
      if (leaf.key != leaves[order[i - 1]].key) continue;
      repeats[order[i]] = true;
      const std::string both = Describe(leaves[order[i - 1]].path) + " and " + Describe(leaf.path);
      AddFinding("torch.key-collision", Severity::kError, leaf.key,
                 Error(ErrorKind::kUnsupported, Place{name(), file_.pickle_offset},
                       both + " both get the key " + Quote(leaf.key) +
                           " when their names are joined by dots, expected one key each"));
    }
    return repeats;
  }

  Result<void> AddLeaf(Leaf leaf) {
    if (!LooksLikeTensor(leaf.value)) return AddObject(std::move(leaf), true);
    auto tensor = ReadPlainTensor(leaf.value, name());
    if (tensor) {
      AddTensor(std::move(leaf), *std::move(tensor));
      return {};
    }
    const bool unsupported = tensor.error().kind() == ErrorKind::kUnsupported;
    if (unsupported) {
      AddFinding("torch.not-a-plain-tensor", Severity::kWarning, leaf.key,
                 std::move(tensor).error().Advise("it is kept as an object"));
    } else {
      AddDamage(leaf.key, std::move(tensor).error());
    }
    return AddObject(std::move(leaf), unsupported);
  }

  void AddTensor(Leaf leaf, TensorValue value) {
    const Chunk chunk{.dims = catalog_.dims.size(), .file = 0, .stored = {}};
    if (InDepth(leaf.key)) {
      // ReadTensor checked that the product fits.
      const uint64_t bytes = value.storage_items * value.storage_item_bytes;
      pending_.push_back({.chunk = catalog_.chunks.size(),
                          .tensor = catalog_.tensors.size(),
                          .first_element = value.first_element,
                          .wanted = Want(value.storage_key, bytes)});
    }
    catalog_.dims.insert(catalog_.dims.end(), value.shape.size(), 0);
    catalog_.dims.insert(catalog_.dims.end(), value.shape.begin(), value.shape.end());
    catalog_.dims.insert(catalog_.dims.end(), value.strides.begin(), value.strides.end());
    Tensor& tensor = catalog_.AddTensor(leaf.key, value.dtype, value.shape);
    tensor.path = catalog_.AddPath(leaf.key, std::move(leaf.path));
    tensor.requires_grad = value.requires_grad;
    tensor.first_chunk = static_cast<uint32_t>(catalog_.chunks.size());
    tensor.chunk_count = 1;
    catalog_.chunks.push_back(chunk);
  }

  Result<void> AddObject(Leaf leaf, bool readable) {
    Object& object = catalog_.AddObject(leaf.key);
    object.path = catalog_.AddPath(leaf.key, std::move(leaf.path));
    object.offset = file_.pickle_offset;
    object.length = file_.stored_pickle_bytes;
    object.file = 0;
    if (readable && (InDepth(object.key) || IsLookedAt(object.key))) {
      // An object may be there under several keys; it is copied once.
      std::shared_ptr<const ObjectValue>& known = objects_[leaf.value.identity()];
      if (!known && options_.depth == SurveyDepth::kObjects) {
        known = CopyValue(leaf.value);
      } else if (!known) {
        uint64_t bytes = 0;
        auto copy = CopyObject(file_.storages, leaf.value, options_.limits, &bytes);
        if (bytes > kSmallBytes && !room_.Take(bytes)) return Fail(TooMuch(object.key));
        if (!copy && copy.error().kind() == ErrorKind::kIo) return Fail(std::move(copy).error());
        if (copy) {
          known = *std::move(copy);
        } else {
          AddDamage(object.key, std::move(copy).error());
        }
      }
      object.value = known;
    }
    return {};
  }

  [[nodiscard]] Error TooMuch(std::string_view key) const {
    return Error(ErrorKind::kLimit, Place{name(), file_.pickle_offset},
                 "objects up to " + Quote(key) +
                     " hold too much each by itself, expected less in a pickle of its size: they share what they hold");
  }

  [[nodiscard]] bool InDepth(std::string_view key) const {
    return options_.depth == SurveyDepth::kExtents && (!options_.wanted || options_.wanted(key));
  }

  [[nodiscard]] bool IsLookedAt(std::string_view key) const {
    return options_.depth == SurveyDepth::kObjects && looked_at_bytes_ < kMaxLookedAtBytes &&
           (!options_.wanted || options_.wanted(key));
  }

  // Without its storages, and null when it is nested too deeply.
  std::shared_ptr<const ObjectValue> CopyValue(pickle::Value value) {
    auto copy = std::make_shared<ObjectValue>();
    pickle::Document::Importer importer(copy->document, {}, options_.limits);
    const Result<pickle::Value> root = importer.Import(value);
    looked_at_bytes_ += copy->document.memory_bytes();
    if (!root) return nullptr;
    copy->document.SetRoot(*root);
    return copy;
  }

  // Position in wanted_.
  size_t Want(const std::string& key, uint64_t bytes) {
    const auto [at, added] = wanted_by_name_.try_emplace(std::to_string(bytes) + "/" + key, wanted_.size());
    if (added) wanted_.push_back({.key = key, .bytes = bytes, .stored = StoredTensor{}});
    return at->second;
  }

  // One small read each, which is slow on a file system far away: hence the threads.
  Result<void> LocateWanted() {
    return ParallelFor(wanted_.size(), options_.jobs, options_.stop, [this](uint64_t i) -> Result<void> {
      Wanted& wanted = wanted_[i];
      wanted.stored = LocateStorage(file_.storages, wanted.key, wanted.bytes);
      if (!wanted.stored && wanted.stored.error().kind() == ErrorKind::kIo) return Fail(wanted.stored.error());
      return {};
    });
  }

  void PlaceChunks() {
    for (const Pending& pending : pending_) {
      const Result<StoredTensor>& stored = wanted_[pending.wanted].stored;
      if (!stored) {
        AddDamage(catalog_.tensors[pending.tensor].key, stored.error());
        continue;
      }
      Chunk& chunk = catalog_.chunks[pending.chunk];
      chunk.stored = *stored;
      chunk.stored.first_element = pending.first_element;
      chunk.surveyed = true;
      chunk.offset = stored->offset;
      chunk.length = stored->codec == Codec::kNone ? stored->bytes : stored->encoded_bytes;
    }
  }

  void AddDamage(std::string_view key, const Error& error) {
    const bool unsupported = error.kind() == ErrorKind::kUnsupported;
    AddFinding(unsupported ? "torch.unsupported-entry" : "torch.damaged-entry", Severity::kError, key, error);
  }

  void AddFinding(const char* id, Severity severity, std::string_view key, const Error& error) {
    catalog_.findings.push_back({.id = id,
                                 .severity = severity,
                                 .offset = error.place().offset,
                                 .key = std::string(key),
                                 .message = error.Text(),
                                 .advice = error.advice()});
  }

  void DescribeFile() {
    catalog_.format = Format::kTorch;
    catalog_.nested = true;
    catalog_.metadata_bytes = file_.pickle_bytes;
    catalog_.files.push_back(
        {.path = {}, .bytes = file_.bytes, .entries = catalog_.entries.size(), .referenced = true});
    catalog_.details = {{"root", pickle::TypeName(file_.document.root())}};
    catalog_.details.insert(catalog_.details.end(), file_.details.begin(), file_.details.end());
  }

  const TorchFile& file_;
  const SurveyOptions& options_;
  Catalog catalog_;
  std::vector<Wanted> wanted_;
  TextMap<size_t> wanted_by_name_;
  std::vector<Pending> pending_;
  std::unordered_map<uint32_t, std::shared_ptr<const ObjectValue>> objects_;  // by identity
  uint64_t looked_at_bytes_ = 0;                                              // of copies
  pickle::Room room_;                                                         // for other copies
};

// Needs no look at the storages, so that a file cut short shows at any depth.
void CheckEnd(const LegacyStream& stream, uint64_t file_bytes, Findings& findings) {
  const uint64_t end = stream.storages.end();
  if (file_bytes < end) {
    findings.push_back({.id = "torch.truncated",
                        .severity = Severity::kError,
                        .offset = file_bytes,
                        .message = "file ends after " + std::to_string(file_bytes) + " bytes, expected " +
                                   std::to_string(end) + ": it is truncated"});
  } else if (file_bytes > end) {
    findings.push_back(
        {.id = "torch.trailing-bytes",
         .severity = Severity::kWarning,
         .offset = end,
         .message = std::to_string(file_bytes - end) + " bytes follow the last storage, expected the end of the file",
         .advice = "they are left out, as by torch.load, which reads one state after the other"});
  }
}

}  // namespace

Result<Catalog> SurveyTorchZip(const ByteSource& source, const SurveyOptions& options) {
  DCPCTL_ASSIGN(const Archive archive, OpenArchive(source, 0, source.size(), options.limits));
  DCPCTL_ASSIGN(const Record pickle, Locate(source, *archive.pickle_entry));
  const ArchiveStorages found(source, archive);
  const ConsistentStorages storages(found, archive.document);
  TorchFile file{.document = archive.document,
                 .storages = storages,
                 .bytes = source.size(),
                 .pickle_offset = pickle.offset,
                 .pickle_bytes = pickle.bytes,
                 .stored_pickle_bytes = pickle.encoded_bytes,
                 .details = {{"archive_name", archive.prefix.substr(0, archive.prefix.size() - 1)},
                             {"records", std::to_string(archive.directory.entries.size())},
                             {"byte_order", archive.big_endian ? "big" : "little"}}};
  if (archive.version) file.details.emplace_back("version", std::to_string(*archive.version));
  return TorchSurvey(file, options).Run();
}

Result<Catalog> SurveyTorchLegacy(const ByteSource& source, const SurveyOptions& options) {
  DCPCTL_ASSIGN(const LegacyStream stream, OpenLegacy(source, options.limits));
  TorchFile file{.document = stream.state.document,
                 .storages = stream.storages,
                 .bytes = source.size(),
                 .pickle_offset = stream.state.offset,
                 .pickle_bytes = stream.state.bytes,
                 .stored_pickle_bytes = stream.state.bytes,
                 .details = {{"form", "stream"},
                             {"protocol_version", std::to_string(kLegacyProtocolVersion)},
                             {"storages", std::to_string(stream.storages.count())},
                             {"byte_order", "little"}}};
  if (!stream.little_endian) file.details.emplace_back("machine", "big-endian");
  DCPCTL_ASSIGN(Catalog catalog, TorchSurvey(file, options).Run());
  CheckEnd(stream, source.size(), catalog.findings);
  return catalog;
}

}  // namespace dcpctl::torch
