#include "ops/repair.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "check/preflight.h"
#include "dcp/compat.h"
#include "dcp/naming.h"
#include "dcp/survey.h"
#include "ops/data_records.h"
#include "ops/dcp_output.h"
#include "ops/dcp_placement.h"
#include "ops/detect.h"
#include "ops/selected_source.h"
#include "ops/write.h"

namespace dcpctl {
namespace ops {
namespace {

// A record as the other checkpoint's metadata has it: a chunk of a tensor or an object.
struct Expected {
  uint64_t offset;
  EntryRef entry;
  uint64_t chunk;  // into Catalog::chunks
};

// "float32 [4, 6]", "an object".
std::string TensorText(DType dtype, DimsView shape) { return std::string(Name(dtype)) + " " + ToString(shape); }

std::string FoundText(const FoundRecord& record) {
  if (!record.problem.empty()) return "a record that cannot be read: " + record.problem;
  return record.is_tensor ? TensorText(record.dtype, record.shape) : "an object of type " + record.type;
}

class Repairer {
 public:
  Repairer(io::FileSystem& files, const std::filesystem::path& path, const std::filesystem::path& like,
           const RepairOptions& options)
      : files_(files), path_(path), like_(like), options_(options) {
    report_.output = options.output.empty() ? path / dcp::kMetadataName : options.output;
  }

  Result<RepairReport> Run() {
    DCPCTL_TRY(CheckKinds());
    DCPCTL_ASSIGN(kind_, check::CheckMetadataTarget(files_, path_, report_.output, false));
    if (kind_ != check::TargetKind::kFile) {
      return Fail({.file = report_.output.string()}, ErrorKind::kUsage, "metadata is a file, expected the name of one");
    }
    Announce(options_.run, "survey");
    const SurveyOptions survey{.depth = SurveyDepth::kMetadata,
                               .jobs = options_.run.jobs,
                               .limits = options_.run.limits,
                               .stop = options_.run.stop};
    DCPCTL_ASSIGN(catalog_, dcp::SurveyDirectory(files_, like_, survey, {.goes_on = true}));
    catalog_.findings.clear();
    DCPCTL_TRY(ListExpected());
    DCPCTL_TRY(MatchFiles());
    DCPCTL_TRY(FindUnknownFiles());
    SortFindings();
    report_.fits = report_.findings.empty();
    if (report_.fits) DCPCTL_TRY(Write());
    return std::move(report_);
  }

 private:
  Result<void> CheckKinds() const {
    DCPCTL_ASSIGN(const Identity other, Identify(files_, like_));
    if (other.kind != SourceKind::kDcp && other.kind != SourceKind::kDcpRankLocal) {
      return Fail(Error(ErrorKind::kUnsupported, Place{.file = like_.string()},
                        "this is " + other.description + ", --like needs a DCP checkpoint")
                      .Advise(other.advice));
    }
    DCPCTL_ASSIGN(const Identity own, Identify(files_, path_));
    const bool has_data = own.kind == SourceKind::kUnfinished || own.kind == SourceKind::kDcp ||
                          own.kind == SourceKind::kDcpRankLocal || own.kind == SourceKind::kOtherDirectory;
    if (has_data) return {};
    return Fail(Error(ErrorKind::kUnsupported, Place{.file = path_.string()},
                      "this is " + own.description + ", repair needs a directory of DCP data files"));
  }

  // By file; several entries may have one record.
  Result<void> ListExpected() {
    expected_.resize(catalog_.files.size());
    for (size_t e = 0; e < catalog_.entries.size(); ++e) {
      const EntryRef entry = catalog_.entries[e];
      ++(entry.is_tensor ? report_.tensors : report_.objects);
      if (!entry.is_tensor) {
        const Object& object = catalog_.objects[entry.index];
        DCPCTL_TRY(Expect(object, {.offset = object.offset, .entry = entry, .chunk = 0}));
        continue;
      }
      const Tensor& tensor = catalog_.tensors[entry.index];
      for (uint64_t c = tensor.first_chunk; c < tensor.first_chunk + tensor.chunk_count; ++c) {
        const Chunk& chunk = catalog_.chunks[c];
        DCPCTL_TRY(Expect(chunk, {.offset = chunk.offset, .entry = entry, .chunk = c}));
      }
    }
    for (auto& records : expected_) {
      std::sort(records.begin(), records.end(),
                [](const Expected& a, const Expected& b) { return a.offset < b.offset; });
    }
    return {};
  }

  template <typename Record>
  Result<void> Expect(const Record& record, Expected expected) {
    const std::string_view key = catalog_.KeyOf(expected.entry);
    if (record.file == kNoFile) {
      return Fail({.file = like_.string()}, ErrorKind::kCorrupt,
                  "the metadata says no place for " + Quote(key) + ", expected one that is whole");
    }
    if (record.transforms != 0) {
      return Fail({.file = like_.string()}, ErrorKind::kUnsupported,
                  Quote(key) + " is a compressed record, whose end cannot be found without metadata");
    }
    expected_[record.file].push_back(expected);
    return {};
  }

  Result<void> MatchFiles() {
    std::vector<std::vector<Finding>> findings(catalog_.files.size());
    DCPCTL_TRY(ParallelFor(catalog_.files.size(), options_.run.jobs, options_.run.stop, [&](uint64_t f) {
      return expected_[f].empty() ? Result<void>() : MatchFile(static_cast<uint32_t>(f), findings[f]);
    }));
    for (size_t f = 0; f < findings.size(); ++f) {
      if (expected_[f].empty()) continue;
      ++report_.files;
      std::move(findings[f].begin(), findings[f].end(), std::back_inserter(report_.findings));
    }
    return {};
  }

  // The records follow each other in the same order; their places move with the sizes of objects' pickles.
  Result<void> MatchFile(uint32_t f, Findings& findings) {
    SourceFile& file = catalog_.files[f];
    const auto add = [&](const char* id, std::optional<uint64_t> offset, std::string key, std::string message) {
      findings.push_back({.id = id,
                          .severity = Severity::kError,
                          .file = file.path,
                          .offset = offset,
                          .key = std::move(key),
                          .message = std::move(message)});
    };
    auto opened = files_.OpenBeneath(path_, file.path);
    if (!opened && opened.error().kind() == ErrorKind::kNotFound) {
      add("repair.file-missing", std::nullopt, "", "the file is not there, and " + Quote(like_.string()) + " has it");
      return {};
    }
    if (!opened) return Fail(std::move(opened).error());
    file.bytes = (*opened)->size();
    file.mtime_ns = (*opened)->info().mtime_ns;
    DCPCTL_ASSIGN(const DataRecords found, ReadDataRecords(**opened, f, options_.run.limits));
    DCPCTL_TRY((*opened)->CheckUnchanged());
    if (found.other_bytes > 0) {
      add("repair.not-an-archive", std::nullopt, "",
          std::to_string(found.other_bytes) + " bytes belong to no whole archive, expected none: the file was cut off");
    }
    const std::vector<Group> groups = GroupsOf(expected_[f]);
    if (groups.size() != found.records.size()) {
      add("repair.record-count", std::nullopt, "",
          std::to_string(found.records.size()) + " records, expected " + std::to_string(groups.size()) + " as in " +
              Quote(like_.string()));
    }
    for (size_t i = 0; i < std::min(groups.size(), found.records.size()); ++i) {
      for (size_t x = groups[i].first; x < groups[i].last; ++x) {
        const FoundRecord& record = found.records[i];
        const std::string wanted = MoveTo(expected_[f][x], record);
        if (wanted.empty()) continue;
        add("repair.record-differs", record.offset, std::string(catalog_.KeyOf(expected_[f][x].entry)),
            "record " + std::to_string(i) + " is " + FoundText(record) + ", expected " + wanted);
      }
    }
    return {};
  }

  // Expected records [first, last) of one place.
  struct Group {
    size_t first;
    size_t last;
  };
  static std::vector<Group> GroupsOf(const std::vector<Expected>& records) {
    std::vector<Group> groups;
    for (size_t i = 0; i < records.size(); ++i) {
      if (i > 0 && records[i].offset == records[i - 1].offset) {
        groups.back().last = i + 1;
      } else {
        groups.push_back({.first = i, .last = i + 1});
      }
    }
    return groups;
  }

  // Moves the entry to where its record is. What was expected, if the record is something else.
  std::string MoveTo(const Expected& expected, const FoundRecord& record) {
    if (!expected.entry.is_tensor) {
      if (record.is_tensor || !record.problem.empty()) return "an object";
      Object& object = catalog_.objects[expected.entry.index];
      object.offset = record.offset;
      object.length = record.length;
      return {};
    }
    const Tensor& tensor = catalog_.tensors[expected.entry.index];
    Chunk& chunk = catalog_.chunks[expected.chunk];
    const DimsView sizes = catalog_.BoxOf(tensor, chunk).sizes;
    const bool fits = record.is_tensor && record.dtype == tensor.dtype &&
                      std::equal(sizes.begin(), sizes.end(), record.shape.begin(), record.shape.end());
    if (!fits) return TensorText(tensor.dtype, sizes);
    chunk.offset = record.offset;
    chunk.length = record.length;
    return {};
  }

  Result<void> FindUnknownFiles() {
    std::set<std::string_view> known;
    for (size_t f = 0; f < expected_.size(); ++f) {
      if (!expected_[f].empty()) known.insert(catalog_.files[f].path);
    }
    DCPCTL_ASSIGN(const auto listing, files_.ListDirectory(path_, {.recursive = true}));
    for (const io::DirectoryEntry& entry : listing) {
      if (entry.type != io::FileType::kRegular || !entry.name.ends_with(dcp::kDataSuffix)) continue;
      DCPCTL_ASSIGN(const io::FileInfo info, files_.Stat(path_ / entry.name));
      if (info.bytes == 0 || known.contains(entry.name)) continue;
      report_.findings.push_back({.id = "repair.file-extra",
                                  .severity = Severity::kError,
                                  .file = entry.name,
                                  .message = "the file has " + std::to_string(info.bytes) + " bytes, and " +
                                             Quote(like_.string()) + " has nothing in a file of that name"});
    }
    return {};
  }

  void SortFindings() {
    std::stable_sort(report_.findings.begin(), report_.findings.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
    });
  }

  // As `convert --metadata-only` does, with the places that were found.
  Result<void> Write() {
    catalog_.root = path_;
    DcpOutputOptions output{
        .paths = {}, .files = {}, .items = {}, .compat = dcp::DefaultCompat(), .data = DataPolicy::kNone};
    for (const EntryRef entry : catalog_.entries) output.paths.push_back(catalog_.KeyPathOf(entry));
    // The other's metadata, and what it has beside, come last and are not here.
    while (!catalog_.files.empty() && expected_[catalog_.files.size() - 1].empty()) catalog_.files.pop_back();
    DCPCTL_TRY(
        PlaceRecords({.catalog = catalog_, .selected = std::vector<bool>(catalog_.entries.size(), true)}, output));
    report_.records = output.items.size();
    DCPCTL_ASSIGN(const Plan plan, PlanDcpOutput(catalog_, output));
    DCPCTL_TRY(CheckPlan(plan));
    report_.bytes = plan.outputs[0].bytes;
    if (options_.run.dry_run) return {};
    RunOptions run = options_.run;
    run.force = false;
    DCPCTL_TRY(WriteOutput(files_, plan, report_.output, kind_, run));
    report_.written = true;
    return {};
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  const std::filesystem::path& like_;
  const RepairOptions& options_;
  check::TargetKind kind_ = check::TargetKind::kFile;
  Catalog catalog_;                              // of the other; in the end with the places of this one
  std::vector<std::vector<Expected>> expected_;  // by Catalog::files
  RepairReport report_;
};

}  // namespace

Result<RepairReport> Repair(io::FileSystem& files, const std::filesystem::path& checkpoint,
                            const std::filesystem::path& like, const RepairOptions& options) {
  return Repairer(files, checkpoint, like, options).Run();
}

}  // namespace ops

Result<RepairReport> Repair(const std::filesystem::path& checkpoint, const std::filesystem::path& like,
                            const RepairOptions& options) {
  const auto files = io::NewPosixFileSystem();
  return ops::Repair(*files, checkpoint, like, options);
}

}  // namespace dcpctl
