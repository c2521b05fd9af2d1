#include "check/coverage.h"

#include <string>

#include "base/checked.h"
#include "base/text_hash.h"
#include "model/coverage.h"

namespace dcpctl::check {
namespace {

Finding Describe(const Catalog& catalog, const Tensor& tensor, const Coverage& coverage) {
  const auto chunks = catalog.ChunksOf(tensor);
  const auto box = [&](uint64_t i) { return ToString(catalog.BoxOf(tensor, chunks[i])); };
  const std::string shape = "of a tensor of shape " + ToString(DimsView(tensor.shape));
  Finding finding{.id = "", .severity = Severity::kError, .key = std::string(tensor.key), .message = ""};
  if (coverage.outside) {
    finding.id = "dcp.chunk-outside";
    finding.message = "chunk " + box(*coverage.outside) + " leaves it, expected a part " + shape;
  } else if (coverage.overlap) {
    finding.id = "dcp.chunk-overlap";
    finding.message = "chunks " + box(coverage.overlap->first) + " and " + box(coverage.overlap->second) +
                      " overlap, expected parts " + shape;
  } else if (coverage.undecided) {
    finding.id = "dcp.coverage-undecided";
    finding.message = "the " + std::to_string(chunks.size()) + " chunks are too tangled to be checked";
  } else {
    finding.id = "dcp.coverage-hole";
    finding.message = std::to_string(coverage.missing) + " elements are in no chunk, among them " +
                      ToString(coverage.hole.view()) + " " + shape;
  }
  return finding;
}

// Of entries whose list of chunks could not be read.
TextSet KeysWithoutChunks(const Findings& findings) {
  TextSet keys;
  for (const Finding& finding : findings) {
    if (finding.id == "dcp.entry-damaged" || finding.id == "dcp.entry-unsupported") keys.insert(finding.key);
  }
  return keys;
}

}  // namespace

void CheckChunkCoverage(const Catalog& catalog, Findings& findings) {
  const TextSet unknown = KeysWithoutChunks(findings);
  for (const Tensor& tensor : catalog.tensors) {
    if (unknown.contains(tensor.key)) continue;
    const auto numel = Numel(tensor.shape);
    if (!numel || !CheckedMul(*numel, ItemBytes(tensor.dtype)) || *numel * ItemBytes(tensor.dtype) > INT64_MAX) {
      findings.push_back({.id = "dcp.shape-overflow",
                          .severity = Severity::kError,
                          .key = std::string(tensor.key),
                          .message = "shape " + ToString(DimsView(tensor.shape)) + " has more than 2^63 bytes"});
      continue;
    }
    const auto chunks = catalog.ChunksOf(tensor);
    const Coverage coverage =
        CheckCoverage(tensor.shape, chunks.size(), [&](uint64_t i) { return catalog.BoxOf(tensor, chunks[i]); });
    if (!coverage.ok()) findings.push_back(Describe(catalog, tensor, coverage));
  }
}

}  // namespace dcpctl::check
