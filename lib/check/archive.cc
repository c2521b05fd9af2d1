#include "check/archive.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "zip/format.h"
#include "zip/search.h"
#include "zip/span.h"

namespace dcpctl::check {
namespace {

// Beside storages an archive has a pickle and records of a few words.
constexpr uint64_t kMostSmall = uint64_t{1} << 20;

class Archive {
 public:
  Archive(const ByteSource& source, const zip::Directory& directory) : source_(source), directory_(directory) {}

  ArchiveCheck Run() {
    const std::vector<zip::Entry>& entries = directory_.entries;
    std::vector<uint32_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return entries[a].header_offset < entries[b].header_offset; });
    uint64_t end = directory_.base;
    for (const uint32_t i : order) {
      Between(end, entries[i].header_offset);
      end = Record(i);
    }
    Between(end, directory_.directory_offset);
    Between(directory_.directory_offset + directory_.directory_bytes, directory_.end_offset);
    return std::move(check_);
  }

 private:
  // Returns where it ends; where the next begins when that can't be told.
  uint64_t Record(uint32_t index) {
    const zip::Entry& entry = directory_.entries[index];
    const auto span = zip::FindSpan(source_, entry);
    if (span) {
      check_.records.push_back({.entry = index, .offset = span->payload});
      return span->end;
    }
    Report(span.error(), "zip.header-differs");
    return entry.boundary;
  }

  void Between(uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    const auto last = zip::FindLastNonZero(source_, begin, end);
    if (!last) return Report(last.error(), "zip.stray-bytes");
    if (*last == begin) {
      check_.padding_bytes += end - begin;
      return;
    }
    check_.stray_bytes += end - begin;
    check_.findings.push_back({.id = "zip.stray-bytes",
                               .severity = Severity::kWarning,
                               .offset = begin,
                               .message = std::to_string(end - begin) +
                                          " bytes between the records of the archive belong to none, expected zeros"});
  }

  void Report(const Error& error, const char* id) {
    if (error.kind() == ErrorKind::kLimit) return;  // not there to be looked at
    check_.findings.push_back({.id = error.kind() == ErrorKind::kIo ? "file.unreadable" : id,
                               .severity = Severity::kError,
                               .offset = error.place().offset,
                               .message = error.Text()});
  }

  const ByteSource& source_;
  const zip::Directory& directory_;
  ArchiveCheck check_;
};

// PREFIX/data/KEY.
bool IsStorage(std::string_view name) {
  const size_t slash = name.find('/');
  return slash != std::string_view::npos && name.substr(slash + 1).starts_with("data/");
}

}  // namespace

ArchiveCheck CheckArchive(const ByteSource& source, const zip::Directory& directory) {
  return Archive(source, directory).Run();
}

std::vector<ArchiveRecord> CheckSmallRecords(const ByteSource& source, const zip::Directory& directory,
                                             const std::vector<ArchiveRecord>& records, Findings& findings) {
  std::vector<ArchiveRecord> left;
  for (const ArchiveRecord& record : records) {
    const zip::Entry& entry = directory.entries[record.entry];
    if (entry.method != zip::kStored && entry.method != zip::kDeflated) continue;  // who needs it will complain
    if (IsStorage(entry.name) || entry.bytes > kMostSmall) {
      left.push_back(record);
      continue;
    }
    const auto bytes = zip::ReadRecord(source, entry, kMostSmall);
    if (bytes || bytes.error().kind() == ErrorKind::kLimit) continue;
    const bool is_read = bytes.error().kind() == ErrorKind::kCorrupt;
    findings.push_back({.id = is_read ? "payload.crc" : "payload.unreadable",
                        .severity = Severity::kError,
                        .offset = bytes.error().place().offset,
                        .message = bytes.error().Text()});
  }
  return left;
}

}  // namespace dcpctl::check
