// What a checkpoint is compared with when it is verified: another one, or a manifest. See verify.h.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "check/preflight.h"
#include "ops/compare.h"
#include "ops/key_filter.h"
#include "ops/manifest.h"
#include "ops/manifest_file.h"
#include "ops/selected_source.h"
#include "ops/verify.h"

namespace dcpctl::ops {
namespace {

// A manifest of ten million entries has about two GiB.
constexpr uint64_t kMostManifest = uint64_t{4} << 30;

bool HasErrors(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

// On one line, without advice.
std::string OneLine(const Error& error) {
  const std::string text = error.ToString();
  return text.substr(0, text.find('\n'));
}

// Whether it is the input that is at fault, and not how it was asked for.
bool IsOfTheInput(const Error& error) {
  return error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kUnsupported ||
         error.kind() == ErrorKind::kLimit;
}

class Comparison {
 public:
  Comparison(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options,
             const Catalog& catalog, Findings& findings)
      : files_(files), path_(path), options_(options), catalog_(catalog), findings_(findings) {}

  Result<void> WithOther() {
    if (options_.against.empty()) return {};
    CompareOptions compare{.selection = options_.selection, .run = options_.run};
    auto report = Compare(files_, path_, options_.against, compare);
    const bool is_of_other = !report && report.error().place().file.starts_with(options_.against.string());
    if (!report && !is_of_other && IsOfTheInput(report.error())) {
      Add("compare.not-possible", "",
          "could not be compared with " + Quote(options_.against.string()) + ": " + OneLine(report.error()));
      return {};
    }
    if (!report) return Fail(std::move(report).error());
    const std::string other = Quote(options_.against.string());
    for (const std::string& key : report->only_in_a) Add("compare.extra", key, "is not in " + other);
    for (const std::string& key : report->only_in_b) Add("compare.missing", key, "is in " + other + " and not here");
    for (const Difference& difference : report->differ) AddDifference(difference, other);
    if (report->equal) Add("compare.equal", "", "holds what " + other + " holds", Severity::kNote);
    return {};
  }

  Result<void> WithManifest() {
    if (options_.check_manifest.empty()) return {};
    DCPCTL_ASSIGN(const std::optional<Manifest> expected, ReadManifest());
    if (!expected) return {};
    DCPCTL_ASSIGN(const bool same, FilesAreSame(*expected));
    if (same) {
      Add("manifest.equal", "", "all files are those of the manifest", Severity::kNote);
      return {};
    }
    auto entries = DigestEntries(files_, path_, options_.selection, options_.run);
    if (!entries && IsOfTheInput(entries.error())) {
      Add("manifest.not-checked", "", "could not be compared with the manifest: " + OneLine(entries.error()));
      return {};
    }
    if (!entries) return Fail(std::move(entries).error());
    return CompareEntries(*expected, *entries);
  }

  Result<void> WriteManifest() {
    if (options_.manifest.empty()) return {};
    if (HasErrors(findings_)) {
      Add("manifest.not-written", "", "no manifest is written of a checkpoint with errors", Severity::kWarning);
      return {};
    }
    DCPCTL_ASSIGN(const auto file, files_.CreateTemp(options_.manifest));
    Manifest manifest{.format = std::string(Name(catalog_.format))};
    DCPCTL_ASSIGN(manifest.entries, DigestEntries(files_, path_, options_.selection, options_.run));
    if (!IsNarrow()) {
      DCPCTL_ASSIGN(manifest.files, DigestFiles(files_, catalog_, options_.run));
    }
    const std::string text = RenderManifest(manifest);
    DCPCTL_TRY(file->WriteAt(0, std::as_bytes(std::span(text.data(), text.size()))));
    return file->Commit(options_.run.force);
  }

 private:
  [[nodiscard]] bool IsNarrow() const {
    return !options_.selection.select.empty() || !options_.selection.exclude.empty();
  }

  void Add(const char* id, std::string key, std::string message, Severity severity = Severity::kError) {
    findings_.push_back({.id = id, .severity = severity, .key = std::move(key), .message = std::move(message)});
  }

  void AddDifference(const Difference& difference, const std::string& other) {
    switch (difference.what) {
      case DifferenceKind::kKind: return AddPair("compare.kind", difference, "is a ", " in ", other);
      case DifferenceKind::kDType: return AddPair("compare.dtype", difference, "is ", " in ", other);
      case DifferenceKind::kShape: return AddPair("compare.shape", difference, "has shape ", " in ", other);
      case DifferenceKind::kObject: return AddPair("compare.object", difference, "is ", " in ", other);
      case DifferenceKind::kValues: break;
    }
    Add("compare.values", difference.key,
        std::to_string(difference.differing) + " of " + std::to_string(difference.elements) +
            " elements are not those of " + other + ", the first is " + ToString(DimsView(difference.first_index)));
  }
  void AddPair(const char* id, const Difference& difference, const std::string& verb, const std::string& in,
               const std::string& other) {
    Add(id, difference.key, verb + difference.a + ", expected " + difference.b + " as" + in + other);
  }

  // Nothing when that is a finding.
  Result<std::optional<Manifest>> ReadManifest() {
    const std::filesystem::path& path = options_.check_manifest;
    DCPCTL_ASSIGN(const auto file, files_.OpenRead(path));
    if (file->size() > kMostManifest)
      return Fail({.file = path.string()}, ErrorKind::kLimit,
                  std::to_string(file->size()) + " bytes, expected a manifest");
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(*file, 0, file->size()));
    auto manifest = ParseManifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
    if (manifest) return std::optional(*std::move(manifest));
    Add("manifest.invalid", "", OneLine(manifest.error()));
    return std::optional<Manifest>();
  }

  // Names and sizes first, which cost nothing.
  Result<bool> FilesAreSame(const Manifest& expected) const {
    if (expected.files.empty()) return false;
    std::vector<std::pair<std::string, uint64_t>> found;
    for (const SourceFile& file : catalog_.files) {
      if (!file.missing) found.emplace_back(file.path, file.bytes);
    }
    std::sort(found.begin(), found.end());
    const bool may_be =
        std::equal(found.begin(), found.end(), expected.files.begin(), expected.files.end(),
                   [](const auto& a, const ManifestFile& b) { return a.first == b.path && a.second == b.bytes; });
    if (!may_be) return false;
    DCPCTL_ASSIGN(const auto digests, DigestFiles(files_, catalog_, options_.run));
    return digests == expected.files;
  }

  Result<void> CompareEntries(const Manifest& expected, std::vector<ManifestEntry> entries) {
    // The same way through JSON, which has no text that is not UTF-8.
    DCPCTL_ASSIGN(const Manifest found, ParseManifest(RenderManifest({.entries = std::move(entries)}), ""));
    KeyFilter filter(options_.selection);
    size_t both = 0;
    size_t wanted = 0;
    const size_t before = findings_.size();
    auto a = found.entries.begin();
    for (const ManifestEntry& b : expected.entries) {
      if (!filter.Wants(b.key)) continue;
      ++wanted;
      for (; a != found.entries.end() && a->key < b.key; ++a) Add("manifest.extra", a->key, "is not in the manifest");
      if (a == found.entries.end() || b.key < a->key) {
        Add("manifest.missing", b.key, "is in the manifest and not here");
      } else {
        ++both;
        CompareEntry(*a++, b);
      }
    }
    for (; a != found.entries.end(); ++a) Add("manifest.extra", a->key, "is not in the manifest");
    if (both == 0 && wanted > 0 && !found.entries.empty()) {
      findings_.resize(before);
      Add("manifest.other-checkpoint", "",
          "none of the " + std::to_string(found.entries.size()) + " keys here is among the " + std::to_string(wanted) +
              " of the manifest: it is of another checkpoint");
    } else if (findings_.size() == before) {
      Add("manifest.equal", "", "all " + std::to_string(both) + " entries are those of the manifest", Severity::kNote);
    }
    return {};
  }

  void CompareEntry(const ManifestEntry& found, const ManifestEntry& expected) {
    const auto kind = [](const ManifestEntry& entry) { return entry.is_tensor ? "a tensor" : "an object"; };
    if (found.is_tensor != expected.is_tensor) {
      return Add("manifest.kind", found.key, std::string("is ") + kind(found) + ", expected " + kind(expected));
    }
    if (found.dtype != expected.dtype)
      return Add("manifest.dtype", found.key, "is " + found.dtype + ", expected " + expected.dtype);
    if (found.shape != expected.shape) {
      return Add("manifest.shape", found.key,
                 "has shape " + ToString(DimsView(found.shape)) + ", expected " + ToString(DimsView(expected.shape)));
    }
    if (found.digest == expected.digest) return;
    Add(found.is_tensor ? "manifest.values" : "manifest.object", found.key,
        "digest is " + ToHex(found.digest) + ", expected " + ToHex(expected.digest));
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const VerifyOptions& options_;
  const Catalog& catalog_;
  Findings& findings_;
};

}  // namespace

Result<void> CheckManifestTarget(io::FileSystem& files, const std::filesystem::path& path,
                                 const VerifyOptions& options) {
  if (options.manifest.empty()) return {};
  DCPCTL_ASSIGN(const check::TargetKind kind,
                check::CheckMetadataTarget(files, path, options.manifest, options.run.force));
  if (kind == check::TargetKind::kFile) return {};
  return Fail({.file = options.manifest.string()}, ErrorKind::kUsage, "a manifest is a file, expected the name of one");
}

Result<void> VerifyWith(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options,
                        const Catalog& catalog, Findings& findings) {
  Comparison comparison(files, path, options, catalog, findings);
  DCPCTL_TRY(comparison.WithOther());
  DCPCTL_TRY(comparison.WithManifest());
  return comparison.WriteManifest();
}

}  // namespace dcpctl::ops
