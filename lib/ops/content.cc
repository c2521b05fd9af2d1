#include "ops/content.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "base/text_hash.h"
#include "ops/damage.h"
#include "ops/reflatten.h"
#include "ops/select.h"
#include "ops/selected_source.h"
#include "ops/survey.h"
#include "torch/flatten.h"

namespace dcpctl::ops {
namespace {

class ContentOpener {
 public:
  ContentOpener(io::FileSystem& files, const std::filesystem::path& path, const ContentOptions& options,
                KeyFilter& filter)
      : files_(files), path_(path), options_(options), filter_(filter) {}

  Result<Content> Run() {
    DCPCTL_TRY(SurveyWanted());
    Catalog& catalog = content_.catalog;
    DCPCTL_TRY(HandleDamage(catalog, false, wanted_));
    DropDamaged();
    if (RenamesAny(options_.names)) DCPCTL_TRY(RenamePaths(catalog, wanted_, options_.names));
    if (std::any_of(
            catalog.objects.begin(), catalog.objects.end(),
            [this](const Object& object) { return object.value && IsWholeContainer(object, options_.run.limits); }) &&
        catalog.format == Format::kDcp) {
      DCPCTL_TRY(TakeApart());
    }
    Collect();
    return std::move(content_);
  }

 private:
  KeyPath NewPathOf(EntryRef entry) const {
    KeyPath path = content_.catalog.KeyPathOf(entry);
    return RenamesAny(options_.names) ? NewPath(path, options_.names) : path;
  }

  // First the names, to know what is wanted. Objects are read in any case: other keys may come out of one.
  Result<void> SurveyWanted() {
    SurveyOptions survey{.depth = SurveyDepth::kMetadata,
                         .jobs = options_.run.jobs,
                         .allow_globals = options_.allow_globals,
                         .limits = options_.run.limits,
                         .stop = options_.run.stop};
    TextSet unwanted;
    if (filter_.narrows()) {
      DCPCTL_ASSIGN(content_.catalog, Survey(files_, path_, survey));
      for (const EntryRef entry : content_.catalog.entries) {
        if (entry.is_tensor && !filter_.Wants(JoinPath(NewPathOf(entry))))
          unwanted.emplace(content_.catalog.KeyOf(entry));
      }
      survey.wanted = [&unwanted](std::string_view key) { return !unwanted.contains(key); };
    }
    survey.depth = SurveyDepth::kExtents;
    DCPCTL_ASSIGN(content_.catalog, Survey(files_, path_, survey));
    for (const EntryRef entry : content_.catalog.entries) {
      paths_.push_back(NewPathOf(entry));
      wanted_.push_back(filter_.Wants(JoinPath(paths_.back())));
    }
    return {};
  }

  // Those that nobody asked for by their own name: what is in them cannot be asked for either.
  void DropDamaged() {
    Catalog& catalog = content_.catalog;
    size_t kept = 0;
    for (size_t e = 0; e < catalog.entries.size(); ++e) {
      const EntryRef entry = catalog.entries[e];
      const bool is_there = entry.is_tensor ? wanted_[e] : catalog.objects[entry.index].value != nullptr;
      if (!is_there) continue;
      if (kept != e) {
        catalog.entries[kept] = entry;
        paths_[kept] = std::move(paths_[e]);
        wanted_[kept] = wanted_[e];
      }
      ++kept;
    }
    catalog.entries.resize(kept);
    paths_.resize(kept);
    wanted_.resize(kept);
  }

  // PyTorch up to 2.3 keeps containers as one entry.
  Result<void> TakeApart() {
    FlatEntries entries{.catalog = std::move(content_.catalog), .paths = std::move(paths_), .removed = {}};
    DCPCTL_ASSIGN(Reflattened flat, Reflatten(std::move(entries), Flattening::kAlways, options_.run.limits));
    content_.catalog = std::move(flat.catalog);
    paths_ = std::move(flat.paths);
    return {};
  }

  void Collect() {
    const Catalog& catalog = content_.catalog;
    for (size_t e = 0; e < catalog.entries.size(); ++e) {
      const EntryRef entry = catalog.entries[e];
      if (!entry.is_tensor && IsEmptyMapping(catalog.objects[entry.index].value->document.root())) continue;
      std::string key = JoinPath(paths_[e]);
      if (filter_.Wants(key)) content_.entries.push_back({.key = std::move(key), .entry = entry});
    }
    std::sort(content_.entries.begin(), content_.entries.end(),
              [](const ContentEntry& a, const ContentEntry& b) { return a.key < b.key; });
  }

  bool IsEmptyMapping(pickle::Value value) const {
    return torch::IsMapping(value) && !torch::IsTakenApart(value, options_.run.limits);
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const ContentOptions& options_;
  KeyFilter& filter_;
  Content content_;
  std::vector<KeyPath> paths_;  // new ones, by Catalog::entries
  std::vector<bool> wanted_;    // by Catalog::entries
};

}  // namespace

Result<Content> OpenContent(io::FileSystem& files, const std::filesystem::path& path, const ContentOptions& options,
                            KeyFilter& filter) {
  return ContentOpener(files, path, options, filter).Run();
}

}  // namespace dcpctl::ops
