// The second half of CatalogBuilder: once all metadata is added, finds the record of each chunk and object.
#include <algorithm>
#include <compare>
#include <numeric>
#include <string>
#include <utility>

#include "base/quote.h"
#include "dcp/catalog_builder.h"
#include "dcp/naming.h"

namespace dcpctl::dcp {

Result<Catalog> CatalogBuilder::Finish() && {
  SortRecords();
  is_placed_.assign(records_.size(), false);
  PlaceChunks();
  PlaceObjects();
  ReportUnused();
  records_ = {};
  return std::move(catalog_);
}

DimsView CatalogBuilder::OffsetsOf(const Record& record) const {
  return record.rank == kObjectRank ? DimsView() : DimsView(record_dims_).subspan(record.dims, record.rank);
}

int CatalogBuilder::CompareOffsets(const Record& record, DimsView offsets) const {
  const DimsView own = OffsetsOf(record);
  const auto order = std::lexicographical_compare_three_way(own.begin(), own.end(), offsets.begin(), offsets.end());
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

// By entry and offsets; equal ones stay in the order in which they came, so the lowest rank's is found first.
// The records of an entry mostly come in the order of their offsets already: ranks write one after the other.
void CatalogBuilder::SortRecords() {
  first_record_of_.assign(catalog_.entries.size() + 1, 0);
  for (const Record& record : records_) ++first_record_of_[record.entry + 1];
  std::partial_sum(first_record_of_.begin(), first_record_of_.end(), first_record_of_.begin());
  std::vector<size_t> next(first_record_of_.begin(), first_record_of_.end() - 1);
  std::vector<Record> by_entry(records_.size());
  for (const Record& record : records_) by_entry[next[record.entry]++] = record;
  records_ = std::move(by_entry);
  const auto less = [this](const Record& a, const Record& b) { return CompareOffsets(a, OffsetsOf(b)) < 0; };
  for (size_t e = 0; e + 1 < first_record_of_.size(); ++e) {
    const auto begin = records_.begin() + static_cast<std::ptrdiff_t>(first_record_of_[e]);
    const auto end = records_.begin() + static_cast<std::ptrdiff_t>(first_record_of_[e + 1]);
    if (!std::is_sorted(begin, end, less)) std::stable_sort(begin, end, less);
  }
}

const CatalogBuilder::Record* CatalogBuilder::FindRecord(uint32_t entry, DimsView offsets) {
  const auto begin = records_.begin() + static_cast<std::ptrdiff_t>(first_record_of_[entry]);
  const auto end = records_.begin() + static_cast<std::ptrdiff_t>(first_record_of_[entry + 1]);
  const auto found = std::lower_bound(begin, end, offsets, [this](const Record& record, DimsView wanted) {
    return CompareOffsets(record, wanted) < 0;
  });
  if (found == end || CompareOffsets(*found, offsets) != 0) return nullptr;
  for (auto same = found; same != end && CompareOffsets(*same, offsets) == 0; ++same) {
    is_placed_[static_cast<size_t>(same - records_.begin())] = true;
    if (same != found) spare_.push_back({.file = same->file, .offset = same->offset, .length = same->length});
  }
  return &*found;
}

void CatalogBuilder::ReportUnused() {
  for (size_t i = 0; i < records_.size(); ++i) {
    if (is_placed_[i]) continue;
    const Record& record = records_[i];
    if (IsDamaged(record.entry)) {  // its bytes are still known to belong to it
      spare_.push_back({.file = record.file, .offset = record.offset, .length = record.length});
      continue;
    }
    catalog_.findings.push_back(
        {.id = "dcp.record-unused",
         .severity = Severity::kWarning,
         .file = catalog_.files[record.file].path,
         .offset = record.offset,
         .key = std::string(catalog_.KeyOf(catalog_.entries[record.entry])),
         .message = record.rank == kObjectRank
                        ? "a storage record is for an object, and the entry is a tensor"
                        : "a storage record at " + ToString(OffsetsOf(record)) + " belongs to no chunk of the entry"});
  }
}

void CatalogBuilder::CountEntry(uint32_t file) { ++catalog_.files[file].entries; }

void CatalogBuilder::ReportMissing(std::string_view key, const std::string& what) {
  catalog_.findings.push_back({.id = "dcp.record-missing",
                               .severity = Severity::kError,
                               .file = std::string(kMetadataName),
                               .key = std::string(key),
                               .message = what + " has no storage record: the metadata contradicts itself",
                               .advice = "its data was never written, or belongs to a rank whose metadata is missing"});
}

void CatalogBuilder::PlaceChunks() {
  const auto by_tensor = [](const auto& a, const auto& b) { return a.tensor < b.tensor; };
  if (!std::is_sorted(pending_.begin(), pending_.end(), by_tensor)) {  // joined metadata: a run for each rank
    std::stable_sort(pending_.begin(), pending_.end(), by_tensor);
  }
  std::vector<uint32_t> entry_of_tensor(catalog_.tensors.size());
  for (uint32_t e = 0; e < catalog_.entries.size(); ++e) {
    if (catalog_.entries[e].is_tensor) entry_of_tensor[catalog_.entries[e].index] = e;
  }
  // Only joined metadata repeats chunks: replicas that each rank wrote.
  TextSet seen;
  catalog_.chunks.reserve(pending_.size());
  size_t next = 0;
  for (uint32_t t = 0; t < catalog_.tensors.size(); ++t) {
    Tensor& tensor = catalog_.tensors[t];
    tensor.first_chunk = static_cast<uint32_t>(catalog_.chunks.size());
    seen.clear();
    for (; next < pending_.size() && pending_[next].tensor == t; ++next) {
      Chunk chunk{.dims = pending_[next].dims, .stored = {}};
      const BoxView box = catalog_.BoxOf(tensor, chunk);
      if (added_ > 1 && !seen.insert(ToString(box)).second) continue;
      if (const Record* record = FindRecord(entry_of_tensor[t], box.offsets)) {
        chunk.file = record->file;
        chunk.offset = record->offset;
        chunk.length = record->length;
        chunk.transforms = record->transforms;
        CountEntry(record->file);
      } else if (!IsDamaged(entry_of_tensor[t])) {
        ReportMissing(tensor.key, "chunk " + ToString(box));
      }
      catalog_.chunks.push_back(chunk);
    }
    tensor.chunk_count = static_cast<uint32_t>(catalog_.chunks.size()) - tensor.first_chunk;
  }
  pending_ = {};
}

void CatalogBuilder::PlaceObjects() {
  for (uint32_t e = 0; e < catalog_.entries.size(); ++e) {
    if (catalog_.entries[e].is_tensor) continue;
    Object& object = catalog_.objects[catalog_.entries[e].index];
    if (const Record* record = FindRecord(e, {})) {
      object.file = record->file;
      object.offset = record->offset;
      object.length = record->length;
      object.transforms = record->transforms;
      CountEntry(record->file);
    } else if (!IsDamaged(e)) {
      ReportMissing(object.key, "object");
    }
  }
}

}  // namespace dcpctl::dcp
