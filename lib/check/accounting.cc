#include "check/accounting.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/result.h"
#include "dcp/naming.h"
#include "io/catalog_files.h"
#include "io/file_cache.h"
#include "zip/search.h"

namespace dcpctl::check {
namespace {

struct Range {
  uint64_t begin;
  uint64_t end;
};

// A gap, taken apart.
struct Gap {
  std::vector<Range> archives;
  std::vector<Range> others;  // not all zeros
  uint64_t padding = 0;
};

// From the back, since only its end says where an archive begins.
Result<Gap> TakeApart(const ByteSource& source, Range range) {
  Gap gap;
  while (range.end > range.begin) {
    DCPCTL_ASSIGN(const auto archive, zip::FindLastArchive(source, range.begin, range.end));
    if (archive) {
      gap.archives.push_back({archive->begin, archive->end});
      gap.padding += range.end - archive->end;
      range.end = archive->begin;
      continue;
    }
    DCPCTL_ASSIGN(const uint64_t last, zip::FindLastNonZero(source, range.begin, range.end));
    gap.padding += range.end - last;
    if (last > range.begin) gap.others.push_back({range.begin, last});
    break;
  }
  return gap;
}

bool IsMetadata(const std::string& path) {
  return path == dcp::kMetadataName || dcp::ParseRankMetadataName(path).has_value();
}

uint64_t Sum(const std::vector<Range>& ranges) {
  uint64_t sum = 0;
  for (const Range& range : ranges) sum += range.end - range.begin;
  return sum;
}

class Accountant {
 public:
  Accountant(io::FileSystem& files, const Catalog& catalog, const RunOptions& options)
      : catalog_(catalog), options_(options), cache_(files, io::PathsOf(catalog)), used_(catalog.files.size()) {}

  Result<ByteAccount> Run(std::span<const FileRange> spare, Findings& findings) {
    CollectUsed(spare);
    for (uint32_t file = 0; file < catalog_.files.size(); ++file) FindGaps(file);
    std::vector<std::optional<Gap>> taken(gaps_.size());
    std::vector<std::optional<Finding>> trouble(gaps_.size());
    DCPCTL_TRY(ParallelFor(gaps_.size(), options_.jobs, options_.stop, [&](uint64_t i) -> Result<void> {
      DCPCTL_ASSIGN(const auto file, cache_.Open(gaps_[i].file));
      auto gap = TakeApart(*file, gaps_[i].range);
      if (gap) {
        taken[i] = *std::move(gap);
      } else {
        trouble[i] = Unreadable(gaps_[i].file, gap.error());
      }
      return {};
    }));
    for (size_t i = 0; i < gaps_.size(); ++i) {
      if (taken[i]) Report(gaps_[i].file, *taken[i], findings);
      if (trouble[i]) findings.push_back(*std::move(trouble[i]));
    }
    return account_;
  }

 private:
  struct FileGap {
    uint32_t file;
    Range range;
  };

  void Use(uint32_t file, uint64_t offset, uint64_t length) {
    if (file == kNoFile || length == 0) return;
    const uint64_t end = std::min(CheckedAdd(offset, length).value_or(UINT64_MAX), catalog_.files[file].bytes);
    if (offset < end) used_[file].push_back({offset, end});
  }

  void CollectUsed(std::span<const FileRange> spare) {
    for (const Chunk& chunk : catalog_.chunks) Use(chunk.file, chunk.offset, chunk.length);
    for (const Object& object : catalog_.objects) Use(object.file, object.offset, object.length);
    for (const FileRange& range : spare) Use(range.file, range.offset, range.length);
  }

  void FindGaps(uint32_t index) {
    const SourceFile& file = catalog_.files[index];
    if (file.missing || IsMetadata(file.path)) return;
    if (!file.referenced) {  // has a finding of its own
      account_.orphan += file.bytes;
      return;
    }
    std::vector<Range>& used = used_[index];
    std::sort(used.begin(), used.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    uint64_t end = 0;
    for (const Range& range : used) {
      if (range.begin > end) gaps_.push_back({index, {end, range.begin}});
      if (range.end > end) account_.used += range.end - std::max(end, range.begin);
      end = std::max(end, range.end);
    }
    if (end < file.bytes) gaps_.push_back({index, {end, file.bytes}});
  }

  void Report(uint32_t file, const Gap& gap, Findings& findings) {
    account_.padding += gap.padding;
    account_.orphan += Sum(gap.archives) + Sum(gap.others);
    if (!gap.archives.empty()) {
      const size_t count = gap.archives.size();
      findings.push_back({.id = "dcp.orphan-archive",
                          .severity = Severity::kWarning,
                          .file = catalog_.files[file].path,
                          .offset = gap.archives.back().begin,
                          .message = (count == 1 ? "an archive" : std::to_string(count) + " archives") + " of " +
                                     std::to_string(Sum(gap.archives)) + " bytes that the metadata does not mention",
                          .advice = "its entry may have been lost from the metadata"});
    }
    for (const Range& other : gap.others) {
      findings.push_back({.id = "dcp.stray-bytes",
                          .severity = Severity::kWarning,
                          .file = catalog_.files[file].path,
                          .offset = other.begin,
                          .message = std::to_string(other.end - other.begin) +
                                     " bytes that belong to no record, expected zeros or nothing"});
    }
  }

  [[nodiscard]] Finding Unreadable(uint32_t file, const Error& error) const {
    return {.id = "file.unreadable",
            .severity = Severity::kError,
            .file = catalog_.files[file].path,
            .offset = error.place().offset,
            .message = error.Text()};
  }

  const Catalog& catalog_;
  const RunOptions& options_;
  io::FileCache cache_;
  std::vector<std::vector<Range>> used_;  // by file
  std::vector<FileGap> gaps_;
  ByteAccount account_;
};

}  // namespace

Result<ByteAccount> AccountForBytes(io::FileSystem& files, const Catalog& catalog, std::span<const FileRange> spare,
                                    const RunOptions& options, Findings& findings) {
  return Accountant(files, catalog, options).Run(spare, findings);
}

Result<ArchiveCount> CountArchives(const ByteSource& source, uint64_t begin, uint64_t end) {
  DCPCTL_ASSIGN(const Gap gap, TakeApart(source, {begin, end}));
  return ArchiveCount{
      .archives = gap.archives.size(), .archive_bytes = Sum(gap.archives), .other_bytes = Sum(gap.others)};
}

}  // namespace dcpctl::check
