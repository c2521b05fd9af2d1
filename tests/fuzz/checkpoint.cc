// Whole checkpoints, made as the input's bytes decide and then perhaps damaged: inspect, verify and the conversions
// have to agree. What was not damaged is clean; what verify calls clean can be inspected and converted; and what comes
// out is clean, too, and holds the same.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "dcp/sample_checkpoint.h"
#include "fuzz/catalogs.h"
#include "fuzz/choices.h"
#include "fuzz/targets.h"
#include "ops/compare.h"
#include "ops/survey.h"
#include "ops/to_dcp.h"
#include "ops/to_torch.h"
#include "ops/verify.h"
#include "support/memory_file_system.h"
#include "torch/sample_archive.h"

namespace dcpctl::fuzz {
namespace {

using dcp::Ints;
using pickle::Document;
using pickle::Value;
using Files = std::map<std::string, std::string>;

const char* const kSource = "/ckpt";
const char* const kTorch = "/out/model.pt";
const char* const kDcp = "/out/ckpt";

constexpr std::array kFiles = {"__0_0.distcp", "__1_0.distcp", "sub/__2_1.distcp"};
constexpr std::array kNames = {"w", "model", "layers.0", "a b", "\xc3\xa4", "..", "x/y", ""};

Ints Shape(Choices& choices) {
  Ints shape(choices.Below(4));
  for (int64_t& size : shape) size = static_cast<int64_t>(choices.Below(5));
  return shape;
}

// The tensor cut across one dimension into up to three parts.
std::vector<dcp::SamplePart> Parts(Choices& choices, const Ints& shape) {
  constexpr size_t kMostParts = 3;
  std::vector<dcp::SamplePart> parts;
  const size_t dim = shape.empty() ? 0 : choices.Below(shape.size());
  const int64_t all = shape.empty() ? 1 : shape[dim];
  int64_t done = 0;
  do {
    const int64_t rest = all - done;
    const int64_t less =
        parts.size() + 1 < kMostParts && rest > 1 ? static_cast<int64_t>(choices.Below(size_t(rest))) : 0;
    dcp::SamplePart part{.offsets = Ints(shape.size(), 0),
                         .sizes = shape,
                         .file = kFiles[choices.Below(kFiles.size())],
                         .zstd = choices.OneIn(4)};
    if (!shape.empty()) {
      part.offsets[dim] = done;
      part.sizes[dim] = rest - less;
    }
    done = all - less;
    parts.push_back(std::move(part));
  } while (done < all);
  return parts;
}

constexpr int kMostDepth = 2;

Value MakeValue(Choices& choices, Document& document, int depth, bool has_storage) {
  switch (choices.Below(8)) {
    case 0: return document.Int(static_cast<int64_t>(choices.Below(1000)) - 500);
    case 1: return document.String(kNames[choices.Below(kNames.size())]);
    case 2: return document.Float(static_cast<double>(choices.Below(100)) / 8);
    case 3: return document.None();
    case 4: {
      if (!has_storage) return document.Bool(true);
      const Value tensor = torch::MakeSample(document, {.items = 6, .shape = {2, 3}, .strides = {3, 1}});
      // A tensor alone is no object of any save, and one in what is converted.
      return depth == kMostDepth ? document.Tuple({tensor}) : tensor;
    }
    case 5: {
      const Value list = document.List();
      for (size_t i = choices.Below(4); depth > 0 && i > 0; --i)
        document.Append(list, MakeValue(choices, document, depth - 1, has_storage));
      return list;
    }
    case 6: {
      const Value dict = document.Dict();
      for (size_t i = choices.Below(3); depth > 0 && i > 0; --i)
        document.SetItem(dict, document.Int(static_cast<int64_t>(i)),
                         MakeValue(choices, document, depth - 1, has_storage));
      return dict;
    }
    default: return document.Global("torch", "float32");
  }
}

Files Make(Choices& choices) {
  dcp::SampleCheckpoint sample({.old_modules = choices.OneIn(4), .six_properties = choices.OneIn(4)});
  const bool nested = !choices.OneIn(4);
  const size_t tensors = 1 + choices.Below(3);
  const size_t objects = choices.Below(3);
  for (size_t i = 0; i < tensors + objects; ++i) {
    const std::string inner = kNames[choices.Below(kNames.size())] + std::to_string(i);
    const std::string key = "top." + inner;
    const KeyPath path = nested ? KeyPath{"top", inner} : KeyPath{};
    if (i < tensors) {
      const Ints shape = Shape(choices);
      sample.AddTensor(key, path, shape, static_cast<float>(i), Parts(choices, shape));
    } else {
      const bool has_storage = choices.OneIn(2);
      const auto make = [&](Document& document) { return MakeValue(choices, document, kMostDepth, has_storage); };
      sample.AddObject(key, path, make, has_storage ? std::vector{dcp::Floats(6)} : std::vector<std::string>{},
                       kFiles[choices.Below(2)]);
    }
  }
  return sample.Finish();
}

// True when there is damage.
bool Damage(Choices& choices, Files& files) {
  const size_t wounds = choices.empty() ? 0 : choices.Below(4);
  for (size_t i = 0; i < wounds && !files.empty(); ++i) {
    const auto file = std::next(files.begin(), static_cast<std::ptrdiff_t>(choices.Below(files.size())));
    std::string& bytes = file->second;
    const size_t at = choices.Below(bytes.size() + 1);
    switch (choices.Below(5)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(at, choices.Below(9), static_cast<char>(choices.Below(256))); break;
      case 2: bytes.erase(at, choices.Below(9)); break;
      case 3: files.erase(file); break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(choices.Below(256));
        break;
    }
  }
  return wounds > 0;
}

class Checker {
 public:
  Checker(const Files& files, bool torch_target) : to_torch_(torch_target) {
    for (const auto& [name, bytes] : files) files_.Put(std::string(kSource) + "/" + name, bytes);
    files_.PutDirectory("/out");
    before_ = files_.Paths();
  }

  void Check(bool damaged) {
    const auto catalog = ops::Survey(files_, kSource, {.depth = SurveyDepth::kMetadata, .jobs = 1, .limits = Small()});
    if (catalog) CheckCatalog(*catalog);
    const auto report = Verify(kSource);
    const bool clean = report && report->ok && !HasUnsupported(report->findings);
    if (!damaged) Require(clean && report->totals.warnings == 0, "what was not damaged is clean", Describe(report));
    const auto converted = Convert();
    if (!converted) {
      Require(converted.error().kind() != ErrorKind::kInternal, "a conversion fails as it may",
              converted.error().ToString());
      Require(files_.Paths() == before_, "a conversion that fails leaves nothing", converted.error().ToString());
    }
    if (!clean) return;
    Require(catalog.has_value(), "what is clean can be inspected", catalog ? "" : catalog.error().ToString());
    Require(converted.has_value(), "what is clean converts", converted ? "" : converted.error().ToString());
    CheckOutput();
  }

 private:
  // Inputs are small, and so is what they may ask for.
  static Limits Small() {
    Limits limits = SmallLimits();
    limits.boxes = Limits{}.boxes;
    return limits;
  }
  static RunOptions Run() { return {.jobs = 1, .memory_bytes = uint64_t{16} << 20, .limits = Small()}; }
  [[nodiscard]] const char* target() const { return to_torch_ ? kTorch : kDcp; }

  Result<VerifyReport> Verify(const char* path) {
    return ops::Verify(files_, path, {.level = VerifyLevel::kPayload, .run = Run(), .settle_ms = 0});
  }

  // What a conversion refuses though it may not be damage.
  static bool HasUnsupported(const Findings& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.id == "dcp.record-unsupported" || finding.id == "dcp.transform-unknown" ||
             finding.id == "dcp.key-collision";
    });
  }

  static std::string Describe(const Result<VerifyReport>& report) {
    if (!report) return report.error().ToString();
    std::string text;
    for (const Finding& finding : report->findings) text += finding.id + ": " + finding.message + "\n";
    return text;
  }

  Result<ConvertReport> Convert() {
    const ConvertOptions options{.run = Run()};
    return to_torch_ ? ops::ToTorch(files_, kSource, kTorch, options) : ops::ToDcp(files_, kSource, kDcp, options);
  }

  void CheckOutput() {
    const auto report = Verify(target());
    Require(report && report->ok, "what was converted is clean", Describe(report));
    const auto same = ops::Compare(files_, kSource, target(), {.run = Run()});
    Require(same.has_value(), "what was converted can be compared", same ? "" : same.error().ToString());
    std::string text;
    for (const std::string& key : same->only_in_a) text += "only before: " + key + "\n";
    for (const std::string& key : same->only_in_b) text += "only after: " + key + "\n";
    for (const Difference& difference : same->differ)
      text += "differs: " + difference.key + ": " + difference.a + " and " + difference.b + "\n";
    Require(same->equal, "what was converted holds the same", text);
  }

  test::MemoryFileSystem files_;
  std::vector<std::string> before_;
  bool to_torch_;
};

}  // namespace

void FuzzCheckpoint(Bytes input) {
  Choices choices(input);
  const bool to_torch = !choices.OneIn(2);
  Files files = Make(choices);
  const bool damaged = Damage(choices, files);
  Checker(files, to_torch).Check(damaged);
}

}  // namespace dcpctl::fuzz
