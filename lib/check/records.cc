#include "check/records.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/checked.h"
#include "base/quote.h"

namespace dcpctl::check {
namespace {

struct Placed {
  uint32_t file;
  uint64_t offset;
  uint64_t end;
  EntryRef entry;
};

std::vector<Placed> CollectRecords(const Catalog& catalog) {
  std::vector<Placed> records;
  const auto add = [&](EntryRef entry, const auto& record) {
    if (record.file == kNoFile || record.length == 0) return;
    const uint64_t end = CheckedAdd(record.offset, record.length).value_or(UINT64_MAX);
    records.push_back({.file = record.file, .offset = record.offset, .end = end, .entry = entry});
  };
  for (const EntryRef entry : catalog.entries) {
    if (!entry.is_tensor) {
      add(entry, catalog.objects[entry.index]);
      continue;
    }
    for (const Chunk& chunk : catalog.ChunksOf(catalog.tensors[entry.index])) add(entry, chunk);
  }
  const auto order = [](const Placed& r) { return std::tuple(r.file, r.offset, r.end); };
  std::stable_sort(records.begin(), records.end(),
                   [&](const Placed& a, const Placed& b) { return order(a) < order(b); });
  return records;
}

}  // namespace

void CheckRecordPlaces(const Catalog& catalog, Findings& findings) {
  const std::vector<Placed> records = CollectRecords(catalog);
  // One record may run into many; each of those is compared with the one that reaches furthest.
  const Placed* furthest = nullptr;
  for (const Placed& record : records) {
    const bool same_file = furthest != nullptr && furthest->file == record.file;
    if (same_file && record.offset < furthest->end) {
      findings.push_back({.id = "dcp.record-overlap",
                          .severity = Severity::kError,
                          .file = catalog.files[record.file].path,
                          .offset = record.offset,
                          .key = std::string(catalog.KeyOf(record.entry)),
                          .message = "the record begins inside that of " + Quote(catalog.KeyOf(furthest->entry)) +
                                     ", which lies from " + Hex(furthest->offset) + " to " + Hex(furthest->end),
                          .advice = "one of the two has the wrong place in the metadata"});
    }
    if (!same_file || record.end > furthest->end) furthest = &record;
  }
}

}  // namespace dcpctl::check
