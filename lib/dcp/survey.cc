#include "dcp/survey.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "dcp/catalog_builder.h"
#include "dcp/extents.h"
#include "dcp/naming.h"
#include "pickle/policy.h"

namespace dcpctl::dcp {
namespace {

// Sub-folders hold data files of some storage writers; a directory with more files than this is none of ours.
constexpr uint64_t kMaxListed = 1'000'000;

struct MetadataFile {
  std::string name;
  uint64_t rank;
};

Result<std::vector<MetadataFile>> FindMetadata(io::FileSystem& files, const std::filesystem::path& root) {
  DCPCTL_ASSIGN(const auto listing, files.ListDirectory(root, {.limit = kMaxListed}));
  std::vector<MetadataFile> found;
  for (const io::DirectoryEntry& entry : listing) {
    if (entry.name == kMetadataName) return std::vector<MetadataFile>{{.name = entry.name, .rank = 0}};
    if (const auto rank = ParseRankMetadataName(entry.name)) found.push_back({.name = entry.name, .rank = *rank});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return found;
}

// Large metadata is read in pieces side by side: most of the time goes into filling new memory.
Result<void> ReadWhole(const ByteSource& file, std::span<std::byte> bytes, const SurveyOptions& options) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  return ParallelFor((bytes.size() + kPiece - 1) / kPiece, options.jobs, options.stop, [&](uint64_t i) {
    return file.ReadAt(i * kPiece, bytes.subspan(i * kPiece, std::min<uint64_t>(kPiece, bytes.size() - i * kPiece)));
  });
}

class DirectorySurvey {
 public:
  DirectorySurvey(io::FileSystem& files, const std::filesystem::path& root, const SurveyOptions& options,
                  const SurveyHooks& hooks)
      : files_(files), root_(root), options_(options), hooks_(hooks), builder_(options.limits, options.jobs) {}

  Result<Catalog> Run() {
    DCPCTL_ASSIGN(const std::vector<MetadataFile> metadata, FindMetadata(files_, root_));
    if (metadata.empty())
      return Fail(Place{.file = root_.string()}, ErrorKind::kNotFound, "no .metadata in this directory");
    for (const MetadataFile& file : metadata) DCPCTL_TRY(ReadMetadataFile(file));
    DCPCTL_ASSIGN(catalog_, std::move(builder_).Finish());
    if (hooks_.on_spare) {
      for (const SpareRecord& record : builder_.spare()) hooks_.on_spare(record);
    }
    catalog_.format = Format::kDcp;
    catalog_.root = root_;
    DescribeMetadata(metadata);
    DCPCTL_TRY(StatFiles());
    ReportRecords();
    DCPCTL_TRY(AddUnreferencedFiles());
    for (SourceFile& file : metadata_files_) catalog_.files.push_back(std::move(file));
    if (options_.depth != SurveyDepth::kMetadata) DCPCTL_TRY(SurveyExtents(files_, catalog_, options_, hooks_.records));
    return std::move(catalog_);
  }

 private:
  Result<void> ReadMetadataFile(const MetadataFile& name) {
    DCPCTL_ASSIGN(const auto file, files_.OpenBeneath(root_, name.name));
    if (file->size() > options_.limits.pickle_bytes) {
      return Fail(Place{.file = file->name()}, ErrorKind::kLimit,
                  std::to_string(file->size()) + " bytes, expected at most " +
                      std::to_string(options_.limits.pickle_bytes) + " of metadata");
    }
    // Not a vector, which would fill it with zeros first.
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(file->size());
    const std::span bytes(memory.get(), file->size());
    DCPCTL_TRY(ReadWhole(*file, bytes, options_));
    DCPCTL_ASSIGN(
        const pickle::Document document,
        pickle::ReadPickle(
            bytes, {.file = file->name(), .base_offset = 0, .allow_persistent_ids = false, .limits = options_.limits}));
    DCPCTL_TRY(pickle::CheckGlobals(document, file->name(), options_.allow_globals));
    DCPCTL_TRY(builder_.Add(document.root(), file->name()));
    catalog_bytes_ += file->size();
    metadata_files_.push_back(
        {.path = name.name, .bytes = file->size(), .referenced = true, .mtime_ns = file->info().mtime_ns});
    return {};
  }

  void DescribeMetadata(const std::vector<MetadataFile>& metadata) {
    catalog_.metadata_bytes = catalog_bytes_;
    if (metadata.front().name == kMetadataName) return;
    catalog_.details.emplace_back("metadata", "one file a rank, joined from " + std::to_string(metadata.size()));
    uint64_t expected = 0;
    for (const MetadataFile& file : metadata) {
      if (file.rank > expected) {
        const std::string ranks = file.rank == expected + 1
                                      ? "rank " + std::to_string(expected)
                                      : "ranks " + std::to_string(expected) + " to " + std::to_string(file.rank - 1);
        AddFinding({.id = "dcp.rank-missing",
                    .severity = Severity::kWarning,
                    .file = file.name,
                    .message = "the metadata of " + ranks + " is not there, though that of rank " +
                               std::to_string(file.rank) + " is"});
      }
      expected = file.rank + 1;
    }
  }

  Result<void> StatFiles() {
    for (SourceFile& file : catalog_.files) {
      auto opened = files_.OpenBeneath(root_, file.path);
      if (!opened && opened.error().kind() == ErrorKind::kNotFound) {
        file.missing = true;
        continue;
      }
      if (!opened && !hooks_.goes_on) return Fail(std::move(opened).error());
      if (!opened) {  // nothing of it is looked at
        file.missing = true;
        unreadable_.emplace(file.path, std::move(opened).error());
        continue;
      }
      file.bytes = (*opened)->size();
      file.mtime_ns = (*opened)->info().mtime_ns;
    }
    return {};
  }

  // One finding for each record that lies past the end of its file, so that every key that is hit is named.
  void ReportRecords() {
    for (const Tensor& tensor : catalog_.tensors) {
      for (const Chunk& chunk : catalog_.ChunksOf(tensor)) CheckRecord(tensor.key, chunk);
    }
    for (const Object& object : catalog_.objects) CheckRecord(object.key, object);
  }

  template <typename Record>
  void CheckRecord(std::string_view key, const Record& record) {
    if (record.file == kNoFile) return;
    CheckPlace(key, record.file, record.offset, record.length);
    CheckTransforms(key, record.file, record.offset, catalog_.transform_chains[record.transforms]);
  }

  void CheckPlace(std::string_view key, uint32_t file_index, uint64_t offset, uint64_t length) {
    const SourceFile& file = catalog_.files[file_index];
    const auto end = CheckedAdd(offset, length);
    if (const auto unreadable = unreadable_.find(file.path); unreadable != unreadable_.end()) {
      AddFinding({.id = "file.unreadable",
                  .severity = Severity::kError,
                  .file = file.path,
                  .key = std::string(key),
                  .message = unreadable->second.Text(),
                  .advice = unreadable->second.advice()});
    } else if (file.missing) {
      AddFinding({.id = "dcp.file-missing",
                  .severity = Severity::kError,
                  .file = file.path,
                  .key = std::string(key),
                  .message = "the file is not there, and the metadata places data in it"});
    } else if (!end || *end > file.bytes) {
      AddFinding({.id = "dcp.file-short",
                  .severity = Severity::kError,
                  .file = file.path,
                  .offset = offset,
                  .key = std::string(key),
                  .message = "the file has " + std::to_string(file.bytes) + " bytes, expected at least " +
                             (end ? std::to_string(*end) : "2^64"),
                  .advice = "it was cut off, or is still being written"});
    }
  }

  void CheckTransforms(std::string_view key, uint32_t file, uint64_t offset, const std::vector<std::string>& chain) {
    if (CanDecode(chain)) return;
    std::string names;
    for (const std::string& name : chain) names += (names.empty() ? "" : ", ") + Quote(name);
    // Who only looks needs no record.
    const Severity severity = options_.depth == SurveyDepth::kExtents ? Severity::kError : Severity::kWarning;
    AddFinding({.id = "dcp.transform-unknown",
                .severity = severity,
                .file = catalog_.files[file].path,
                .offset = offset,
                .key = std::string(key),
                .message = "the record is encoded by " + names + ", expected stream.zstd/1 or nothing"});
  }

  // Recursive, since some storage writers make sub-folders. Left-overs of an earlier, larger save stay behind
  // in a directory that is used again; empty ones are normal.
  Result<void> AddUnreferencedFiles() {
    DCPCTL_ASSIGN(const auto listing, files_.ListDirectory(root_, {.recursive = true, .limit = kMaxListed}));
    std::set<std::string_view> known;
    for (const SourceFile& file : catalog_.files) known.insert(file.path);
    std::vector<SourceFile> others;
    for (const io::DirectoryEntry& entry : listing) {
      if (entry.type != io::FileType::kRegular || !entry.name.ends_with(kDataSuffix) || known.contains(entry.name))
        continue;
      DCPCTL_ASSIGN(const io::FileInfo info, files_.Stat(root_ / entry.name));
      SourceFile file{.path = entry.name, .bytes = info.bytes, .mtime_ns = info.mtime_ns};
      if (const auto name = ParseDataFileName(entry.name)) {
        file.rank = name->rank;
        file.bucket = name->bucket;
      }
      if (info.bytes > 0) {
        AddFinding({.id = "dcp.file-unreferenced",
                    .severity = Severity::kWarning,
                    .file = entry.name,
                    .message = "the metadata places nothing in this file of " + std::to_string(info.bytes) + " bytes",
                    .advice = "it may be left over from an earlier save with more ranks"});
      }
      others.push_back(std::move(file));
    }
    for (SourceFile& file : others) catalog_.files.push_back(std::move(file));
    return {};
  }

  void AddFinding(Finding finding) { catalog_.findings.push_back(std::move(finding)); }

  io::FileSystem& files_;
  const std::filesystem::path& root_;
  const SurveyOptions& options_;
  const SurveyHooks& hooks_;
  CatalogBuilder builder_;
  Catalog catalog_;
  std::vector<SourceFile> metadata_files_;
  std::map<std::string, Error, std::less<>> unreadable_;  // by path
  uint64_t catalog_bytes_ = 0;
};

}  // namespace

Result<Catalog> SurveyDirectory(io::FileSystem& files, const std::filesystem::path& root, const SurveyOptions& options,
                                const SurveyHooks& hooks) {
  return DirectorySurvey(files, root, options, hooks).Run();
}

}  // namespace dcpctl::dcp
