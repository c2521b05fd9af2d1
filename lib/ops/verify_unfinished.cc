#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "check/accounting.h"
#include "dcp/naming.h"
#include "ops/verify.h"

namespace dcpctl::ops {
namespace {

// "0 to 3, 5"
std::string JoinRanks(const std::set<uint64_t>& ranks) {
  std::string text;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    auto last = rank;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(*rank);
    if (*last > *rank) text += " to " + std::to_string(*last);
    rank = std::next(last);
  }
  return text;
}

class UnfinishedVerifier {
 public:
  UnfinishedVerifier(io::FileSystem& files, const std::filesystem::path& path) : files_(files), path_(path) {}

  Result<Verified> Run() {
    Catalog& catalog = verified_.catalog;
    catalog.root = path_;
    DCPCTL_ASSIGN(const auto listing, files_.ListDirectory(path_, {.recursive = true}));
    for (const io::DirectoryEntry& entry : listing) {
      if (entry.name == dcp::kUnfinishedMetadataName) has_metadata_ = true;
      if (entry.type == io::FileType::kRegular && entry.name.ends_with(dcp::kDataSuffix)) DCPCTL_TRY(Add(entry.name));
    }
    for (const SourceFile& file : catalog.files) {
      if (file.bytes > 0) DCPCTL_TRY(Count(file));
    }
    AddSummary();
    return std::move(verified_);
  }

 private:
  Result<void> Add(const std::string& name) {
    DCPCTL_ASSIGN(const io::FileInfo info, files_.Stat(path_ / name));
    SourceFile file{.path = name, .bytes = info.bytes, .mtime_ns = info.mtime_ns};
    if (const auto parts = dcp::ParseDataFileName(name)) {
      file.rank = parts->rank;
      file.bucket = parts->bucket;
      ranks_.insert(parts->rank);
    }
    bytes_ += info.bytes;
    verified_.catalog.files.push_back(std::move(file));
    return {};
  }

  // What could still be saved of it.
  Result<void> Count(const SourceFile& file) {
    Findings& findings = verified_.catalog.findings;
    auto opened = files_.OpenBeneath(path_, file.path);
    auto count = opened ? check::CountArchives(**opened, 0, std::min(file.bytes, (*opened)->size()))
                        : Result<check::ArchiveCount>(Fail(opened.error()));
    if (!count) {
      findings.push_back(
          {.id = "file.unreadable", .severity = Severity::kError, .file = file.path, .message = count.error().Text()});
      return {};
    }
    verified_.totals.orphan_bytes += count->archive_bytes + count->other_bytes;
    verified_.totals.padding_bytes += file.bytes - count->archive_bytes - count->other_bytes;
    std::string rest;
    if (count->other_bytes > 0)
      rest = ", and " + std::to_string(count->other_bytes) + " bytes in front of them that belong to none";
    findings.push_back({.id = "dcp.archives-without-metadata",
                        .severity = Severity::kNote,
                        .file = file.path,
                        .message = "archives that are whole: " + std::to_string(count->archives) + ", with " +
                                   std::to_string(count->archive_bytes) + " bytes" + rest});
    return {};
  }

  void AddSummary() {
    const size_t files = verified_.catalog.files.size();
    std::string message = "an unfinished save: " + std::to_string(files) + " data files of " + std::to_string(bytes_) +
                          " bytes" + (ranks_.empty() ? "" : " from ranks " + JoinRanks(ranks_)) +
                          ", and no .metadata, which is written last";
    if (has_metadata_) message += "; a .metadata.tmp is there, which was never renamed";
    verified_.catalog.findings.push_back(
        {.id = "dcp.unfinished",
         .severity = Severity::kError,
         .file = has_metadata_ ? std::string(dcp::kUnfinishedMetadataName) : "",
         .message = std::move(message),
         .advice = "use an earlier checkpoint; the save was stopped, or is still running"});
  }

  io::FileSystem& files_;
  const std::filesystem::path& path_;
  Verified verified_;
  std::set<uint64_t> ranks_;
  uint64_t bytes_ = 0;
  bool has_metadata_ = false;
};

}  // namespace

Result<Verified> VerifyUnfinished(io::FileSystem& files, const std::filesystem::path& path,
                                  const VerifyOptions& /*options*/) {
  return UnfinishedVerifier(files, path).Run();
}

}  // namespace dcpctl::ops
