#include <string>
#include <vector>

#include "base/result.h"
#include "dcpctl/box.h"
#include "ops/damage.h"
#include "ops/statistics.h"
#include "ops/verify.h"

namespace dcpctl::ops {
namespace {

void Report(const Tensor& tensor, uint64_t count, uint64_t elements, uint64_t first, bool is_nan, Findings& findings) {
  if (count == 0) return;
  findings.push_back({.id = is_nan ? "values.nan" : "values.inf",
                      .severity = Severity::kError,
                      .key = std::string(tensor.key),
                      .message = std::to_string(count) + " of " + std::to_string(elements) + " elements " +
                                 (count == 1 ? "is " : "are ") + (is_nan ? "NaN" : "infinite") + ", the first at " +
                                 ToString(DimsView(Unravel(tensor.shape, first)))});
}

void NoteUnknownTypes(const Catalog& catalog, const std::vector<uint32_t>& unknown, Findings& findings) {
  for (const uint32_t index : unknown) {
    findings.push_back({.id = "values.unknown-type",
                        .severity = Severity::kNote,
                        .key = std::string(catalog.tensors[index].key),
                        .message = "values of " + std::string(Name(catalog.tensors[index].dtype)) +
                                   " were not looked at: the LibTorch of the plug-in does not have this type"});
  }
}

}  // namespace

Result<void> VerifyValues(io::FileSystem& files, const VerifyOptions& options, Verified& verified) {
  if (options.level != VerifyLevel::kValues) return {};
  Catalog& catalog = verified.catalog;
  std::vector<bool> whole = verified.selected;
  DCPCTL_TRY(HandleDamage(catalog, /*skip=*/true, whole));
  for (size_t i = 0; i < whole.size(); ++i) {
    const EntryRef entry = catalog.entries[i];
    if (whole[i]) whole[i] = entry.is_tensor && IsFloatingPoint(catalog.tensors[entry.index].dtype);
  }
  auto scanned = ScanTensors(files, catalog, whole, options.run, "--values");
  if (!scanned && scanned.error().kind() == ErrorKind::kMismatch) return {};  // CheckMovement will say so
  if (!scanned) return Fail(std::move(scanned).error());
  for (size_t t = 0; t < catalog.tensors.size(); ++t) {
    if (!scanned->tensors[t]) continue;  // what cannot be read was reported with its payload
    const ScannedTensor& found = *scanned->tensors[t];
    ++verified.totals.scanned_tensors;
    verified.totals.scanned_elements += found.elements;
    Report(catalog.tensors[t], found.stats.nan, found.elements, found.first_nan, true, catalog.findings);
    Report(catalog.tensors[t], found.stats.inf, found.elements, found.first_inf, false, catalog.findings);
  }
  NoteUnknownTypes(catalog, scanned->unknown, catalog.findings);
  return {};
}

}  // namespace dcpctl::ops
