#include "ops/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/result.h"
#include "engine/scan.h"
#include "io/catalog_files.h"
#include "io/file_cache.h"
#include "model/elements.h"
#include "ops/content.h"
#include "ops/object_digest.h"
#include "ops/selected_source.h"
#include "plan/plan_builder.h"

namespace dcpctl {
namespace ops {
namespace {

// Of an object's value, in a report.
constexpr size_t kMostOfAValue = 60;

// An entry that both have.
struct Pair {
  const ContentEntry* a;
  const ContentEntry* b;
};

std::string ValueText(const Object& object) {
  return pickle::Print(object.value->document.root(), {.max_bytes = kMostOfAValue});
}

class Comparer {
 public:
  Comparer(io::FileSystem& files, const Content& a, const Content& b, const CompareOptions& options)
      : files_(files), a_(a), b_(b), tolerance_(options.tolerance), options_(options.run) {}

  Result<void> Run(CompareReport& report) {
    Match(report);
    DCPCTL_TRY(CompareTensors(report));
    DCPCTL_TRY(CompareObjects(report));
    std::sort(report.differ.begin(), report.differ.end(),
              [](const Difference& x, const Difference& y) { return x.key < y.key; });
    report.equal = report.only_in_a.empty() && report.only_in_b.empty() && report.differ.empty();
    return {};
  }

 private:
  [[nodiscard]] const Tensor& TensorOf(const Content& content, const ContentEntry* entry) const {
    return content.catalog.tensors[entry->entry.index];
  }
  [[nodiscard]] const Object& ObjectOf(const Content& content, const ContentEntry* entry) const {
    return content.catalog.objects[entry->entry.index];
  }

  // Both lists are sorted by key.
  void Match(CompareReport& report) {
    auto a = a_.entries.begin();
    auto b = b_.entries.begin();
    while (a != a_.entries.end() || b != b_.entries.end()) {
      if (b == b_.entries.end() || (a != a_.entries.end() && a->key < b->key)) {
        report.only_in_a.push_back((a++)->key);
      } else if (a == a_.entries.end() || b->key < a->key) {
        report.only_in_b.push_back((b++)->key);
      } else {
        AddPair({.a = &*a++, .b = &*b++}, report);
      }
    }
  }

  void AddPair(const Pair& pair, CompareReport& report) {
    const auto differ = [&](DifferenceKind what, std::string a, std::string b) {
      report.differ.push_back({.key = pair.a->key, .what = what, .a = std::move(a), .b = std::move(b)});
    };
    const auto kind = [](const ContentEntry* entry) { return entry->entry.is_tensor ? "tensor" : "object"; };
    if (pair.a->entry.is_tensor != pair.b->entry.is_tensor)
      return differ(DifferenceKind::kKind, kind(pair.a), kind(pair.b));
    ++(pair.a->entry.is_tensor ? report.totals.tensors : report.totals.objects);
    if (!pair.a->entry.is_tensor) return objects_.push_back(pair);
    const Tensor& a = TensorOf(a_, pair.a);
    const Tensor& b = TensorOf(b_, pair.b);
    if (a.dtype != b.dtype)
      return differ(DifferenceKind::kDType, std::string(Name(a.dtype)), std::string(Name(b.dtype)));
    if (a.shape != b.shape)
      return differ(DifferenceKind::kShape, ToString(DimsView(a.shape)), ToString(DimsView(b.shape)));
    tensors_.push_back(pair);
  }

  // The same regions for both, so that tiles of one meet those of the other.
  Result<std::vector<Plan>> PlanBoth() const {
    PlanBuilder a(a_.catalog);
    PlanBuilder b(b_.catalog);
    uint64_t offset = 0;
    for (const Pair& pair : tensors_) {
      const Tensor& tensor = TensorOf(a_, pair.a);
      a.AddTensor(0, offset, tensor);
      b.AddTensor(0, offset, TensorOf(b_, pair.b));
      const auto elements = Numel(tensor.shape);
      const auto bytes = elements ? CheckedMul(*elements, ItemBytes(tensor.dtype)) : std::nullopt;
      const auto end = bytes ? CheckedAdd(offset, *bytes) : std::nullopt;
      if (!end) return Fail(ErrorKind::kLimit, "tensors have more than 2^64 bytes together");
      offset = *end;
    }
    std::vector<Plan> plans;
    for (PlanBuilder* builder : {&a, &b}) {
      builder->AddOutput("", offset);
      plans.push_back(std::move(*builder).Finish());
      DCPCTL_TRY(CheckPlan(plans.back()));
    }
    return plans;
  }

  Result<void> CompareTensors(CompareReport& report) {
    if (tensors_.empty()) return {};
    DCPCTL_ASSIGN(const std::vector<Plan> plans, PlanBoth());
    report.totals.bytes = plans[0].outputs[0].bytes;
    Announce(options_, "compare", report.totals.bytes);
    std::vector<ElementsDifference> found(tensors_.size());
    std::mutex mutex;  // guards found
    const engine::ScanInput scan{.plans = plans,
                                 .files = files_,
                                 .scratch_directory = std::filesystem::temp_directory_path(),
                                 .jobs = EffectiveJobs(options_.jobs),
                                 .memory_bytes = options_.memory_bytes,
                                 .stop = options_.stop,
                                 .observer = options_.observer};
    DCPCTL_TRY(engine::ScanPlans(scan, [&](uint32_t region, uint64_t begin, auto tiles) -> Result<void> {
      const DType dtype = TensorOf(a_, tensors_[region].a).dtype;
      auto difference = CompareElements(dtype, tiles[0], tiles[1], tolerance_);
      if (!difference) return {};
      difference->first += begin / ItemBytes(dtype);
      const std::lock_guard lock(mutex);
      found[region].Add(*difference);
      return {};
    }));
    for (size_t t = 0; t < found.size(); ++t) {
      if (found[t].count > 0) {
        report.differ.push_back(Describe(tensors_[t], found[t]));
      } else if (found[t].close > 0) {
        ++report.totals.close;
      }
    }
    return {};
  }

  [[nodiscard]] Difference Describe(const Pair& pair, const ElementsDifference& found) const {
    const Tensor& tensor = TensorOf(a_, pair.a);
    return {.key = pair.a->key,
            .what = DifferenceKind::kValues,
            .first_index = Unravel(tensor.shape, found.first),
            .differing = found.count,
            .elements = *Numel(tensor.shape),
            .max_abs_diff = found.largest};
  }

  Result<void> CompareObjects(CompareReport& report) {
    io::FileCache cache_a(files_, io::PathsOf(a_.catalog));
    io::FileCache cache_b(files_, io::PathsOf(b_.catalog));
    ObjectDigests digests_a(cache_a, options_.limits);
    ObjectDigests digests_b(cache_b, options_.limits);
    std::vector<char> differs(objects_.size());
    DCPCTL_TRY(ParallelFor(objects_.size(), options_.jobs, options_.stop, [&](uint64_t i) -> Result<void> {
      DCPCTL_ASSIGN(const Sha256Digest a, digests_a.Of(ObjectOf(a_, objects_[i].a)));
      DCPCTL_ASSIGN(const Sha256Digest b, digests_b.Of(ObjectOf(b_, objects_[i].b)));
      differs[i] = a != b ? 1 : 0;
      return {};
    }));
    DCPCTL_TRY(cache_a.CheckUnchanged());
    DCPCTL_TRY(cache_b.CheckUnchanged());
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (differs[i] == 0) continue;
      report.differ.push_back({.key = objects_[i].a->key,
                               .what = DifferenceKind::kObject,
                               .a = ValueText(ObjectOf(a_, objects_[i].a)),
                               .b = ValueText(ObjectOf(b_, objects_[i].b))});
    }
    return {};
  }

  io::FileSystem& files_;
  const Content& a_;
  const Content& b_;
  const std::optional<Tolerance>& tolerance_;
  const RunOptions& options_;
  std::vector<Pair> tensors_;  // of one dtype and shape
  std::vector<Pair> objects_;
};

Result<void> CheckTolerance(const std::optional<Tolerance>& tolerance) {
  const auto is_bad = [](double value) { return !std::isfinite(value) || value < 0; };
  if (!tolerance || (!is_bad(tolerance->relative) && !is_bad(tolerance->absolute))) return {};
  return Fail(ErrorKind::kUsage, "a tolerance is negative or not finite");
}

Result<void> CheckFilter(const KeyFilter& filter, const Content& a, const Content& b) {
  std::vector<std::string> keys;
  for (const Content* content : {&a, &b}) {
    for (const EntryRef entry : content->catalog.entries) keys.emplace_back(content->catalog.KeyOf(entry));
  }
  DCPCTL_TRY(filter.CheckUsed(keys));
  if (filter.narrows() && a.entries.empty() && b.entries.empty())
    return Fail(ErrorKind::kNotFound, "the selection leaves no entry");
  return {};
}

}  // namespace

Result<CompareReport> Compare(io::FileSystem& files, const std::filesystem::path& a, const std::filesystem::path& b,
                              const CompareOptions& options) {
  DCPCTL_TRY(CheckTolerance(options.tolerance));
  Announce(options.run, "survey");
  KeyFilter filter(options.selection);
  ContentOptions content{.names = options.selection, .allow_globals = options.allow_globals, .run = options.run};
  DCPCTL_ASSIGN(const Content left, OpenContent(files, a, content, filter));
  content.names = {};
  DCPCTL_ASSIGN(const Content right, OpenContent(files, b, content, filter));
  DCPCTL_TRY(CheckFilter(filter, left, right));
  CompareReport report{
      .a = a, .b = b, .only_in_a = {}, .only_in_b = {}, .differ = {}, .totals = {}, .tolerance = options.tolerance};
  DCPCTL_TRY(Comparer(files, left, right, options).Run(report));
  return report;
}

}  // namespace ops

std::string_view Name(DifferenceKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"kind", "dtype", "shape", "values", "object"};
  return kNames[static_cast<size_t>(kind)];
}

Result<CompareReport> Compare(const std::filesystem::path& a, const std::filesystem::path& b,
                              const CompareOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return ops::Compare(*files, a, b, options);
}

}  // namespace dcpctl
