#include "fuzz/catalogs.h"

#include <sstream>

#include "dcpctl/inspect.h"
#include "fuzz/targets.h"
#include "report/inspect_text.h"
#include "report/json.h"

namespace dcpctl::fuzz {
namespace {

void CheckTensor(const Catalog& catalog, const Tensor& tensor) {
  Require(tensor.first_chunk + tensor.chunk_count <= catalog.chunks.size(), "chunks of a tensor are there",
          std::string(tensor.key));
  Require(tensor.shape.size() <= Limits{}.rank, "a tensor has no more dimensions than may be", std::string(tensor.key));
  for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
    const size_t parts = chunk.surveyed ? 3 : 2;
    Require(chunk.dims + parts * tensor.shape.size() <= catalog.dims.size(), "numbers of a chunk are there");
    Require(chunk.file == kNoFile || chunk.file < catalog.files.size(), "the file of a chunk is there",
            std::string(tensor.key));
    Require(chunk.transforms < catalog.transform_chains.size(), "the transforms of a chunk are there",
            std::string(tensor.key));
  }
}

void RequirePrintable(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    Require(c == '\n' || (byte >= ' ' && byte != 0x7f), "what is shown has no control characters", text);
  }
}

}  // namespace

void CheckCatalog(const Catalog& catalog) {
  for (const EntryRef entry : catalog.entries) {
    Require(entry.index < (entry.is_tensor ? catalog.tensors.size() : catalog.objects.size()), "an entry is there");
    if (entry.is_tensor) CheckTensor(catalog, catalog.tensors[entry.index]);
  }
  for (const uint32_t entry : catalog.state_order) Require(entry < catalog.entries.size(), "an entry has an order");
  for (const Object& object : catalog.objects)
    Require(object.file == kNoFile || object.file < catalog.files.size(), "the file of an object is there",
            std::string(object.key));
  for (const Finding& finding : catalog.findings)
    Require(!finding.id.empty() && !finding.message.empty(), "a finding says what it is");
  InspectReport report;
  report.catalog = catalog;
  std::ostringstream shown;
  report::WriteTable(shown, report);
  report::WriteChunks(shown, report);
  RequirePrintable(shown.str());
}

}  // namespace dcpctl::fuzz
