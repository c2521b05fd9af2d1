#include "check/archive_log.h"

#include <set>
#include <string_view>
#include <utility>

#include "check/archive.h"
#include "zip/format.h"

namespace dcpctl::check {
StoredTensor StoredOf(const zip::Entry& entry, uint64_t offset) {
  const bool deflated = entry.method == zip::kDeflated;
  return {.offset = offset,
          .bytes = entry.bytes,
          .encoded_bytes = deflated ? entry.compressed_bytes : 0,
          .crc = entry.crc,
          .crc_known = entry.crc != 0 || entry.bytes == 0,
          .codec = deflated ? Codec::kDeflate : Codec::kNone};
}

void ArchiveLog::Add(EntryRef entry, uint32_t file, const ByteSource& source, const zip::Directory& directory,
                     bool decoded) {
  ArchiveCheck check = CheckArchive(source, directory);
  std::vector<ArchiveRecord> storages;
  if (payload_) storages = CheckSmallRecords(source, directory, check.records, check.findings);
  const std::lock_guard lock(mutex_);
  for (Finding& finding : check.findings) {
    if (decoded) finding.offset = std::nullopt;  // counts decoded bytes
    findings_.push_back({entry, file, std::move(finding)});
  }
  if (decoded) return;
  for (const ArchiveRecord& record : storages)
    storages_.push_back({entry, file, StoredOf(directory.entries[record.entry], record.offset)});
}

void ArchiveLog::AddFindings(const Catalog& catalog, Findings& findings) {
  std::set<std::pair<std::string_view, uint64_t>> known;
  for (const Finding& finding : findings) {
    if (finding.offset && finding.severity == Severity::kError) known.emplace(finding.file, *finding.offset);
  }
  Findings added;
  for (auto& [entry, file, finding] : findings_) {
    const std::string& path = catalog.files[file].path;
    if (finding.offset && known.contains({path, *finding.offset})) continue;
    finding.file = path;
    finding.key = std::string(catalog.KeyOf(entry));
    added.push_back(std::move(finding));
  }
  findings.insert(findings.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

std::vector<LooseRecord> ArchiveLog::Storages(const Catalog& catalog) const {
  std::vector<int64_t> tensors(catalog.tensors.size(), -1);
  std::vector<int64_t> objects(catalog.objects.size(), -1);
  for (size_t i = 0; i < catalog.entries.size(); ++i) {
    const EntryRef entry = catalog.entries[i];
    (entry.is_tensor ? tensors : objects)[entry.index] = static_cast<int64_t>(i);
  }
  std::vector<LooseRecord> records;
  records.reserve(storages_.size());
  for (const auto& [entry, file, stored] : storages_)
    records.push_back({.file = file, .entry = (entry.is_tensor ? tensors : objects)[entry.index], .stored = stored});
  return records;
}

}  // namespace dcpctl::check
