// A DCP directory as a plan: which box of which tensor goes into which data file, laid out byte for byte.
// Pure: reads nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dcp/compat.h"
#include "dcp/layout.h"
#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/plan.h"

namespace dcpctl::ops {

// A data file of the result: laid out anew, or one of the source as it is.
struct DcpFile {
  std::string name;            // relative to the directory
  uint32_t adopted = kNoFile;  // into Catalog::files
};

// An entry, or a box of it, in a data file.
struct DcpItem {
  uint32_t entry = 0;  // into Catalog::entries
  uint32_t file = 0;   // into DcpOutputOptions::files
  // Where it is in an adopted file.
  dcp::PlacedItem place = {};
  uint32_t transforms = 0;  // into Catalog::transform_chains
  uint32_t rank = 0;        // of the box
  uint64_t box = 0;         // in the pool: offsets, then sizes
};

// Of the items in one file.
enum class ItemOrder : uint8_t {
  kObjectsFirst,  // then tensors, each as in `items`: what PyTorch writes
  kAsLoaded,      // as a state dict has them, which is how PyTorch asks for them: the file is read front to back
};

struct DcpOutputOptions {
  std::vector<KeyPath> paths;  // new path of each entry that has an item, by Catalog::entries
  std::vector<DcpFile> files;
  std::vector<DcpItem> items;  // those of one entry in the order of its chunks; see AddItem
  Dims dims = {};              // the pool
  ItemOrder order = ItemOrder::kObjectsFirst;
  bool nested = true;
  dcp::Compat compat;
  DataPolicy data = DataPolicy::kRewrite;  // of adopted files

  // `box` is of a tensor and may be empty; of an object it has no dimensions.
  void AddItem(DcpItem item, BoxView box) {
    item.rank = static_cast<uint32_t>(box.sizes.size());
    item.box = dims.size();
    for (const uint64_t offset : box.offsets) dims.push_back(offset);
    for (const uint64_t size : box.sizes) dims.push_back(size);
    items.push_back(item);
  }
  [[nodiscard]] BoxView BoxOf(const DcpItem& item) const {
    return {DimsView(dims).subspan(item.box, item.rank), DimsView(dims).subspan(item.box + item.rank, item.rank)};
  }
};

// Outputs of the plan are the data files, named by `files`, and last `.metadata`; adopted files are its copies. With
// DataPolicy::kNone, `.metadata` alone. Errors: kMismatch for two entries of one key, kLimit.
Result<Plan> PlanDcpOutput(const Catalog& catalog, const DcpOutputOptions& options);

// The same with each item compressed on its own. How long items become is known once they are written, so there is
// no metadata in the plan: its outputs are the items, those of a file side by side under its name.
struct CompressedOutput {
  Plan plan;
  std::vector<size_t> items;  // into DcpOutputOptions::items, by output
};
Result<CompressedOutput> PlanCompressedOutput(const Catalog& catalog, const DcpOutputOptions& options);
// The bytes of `.metadata`; `items` as above, `places` are those of the outputs.
Result<std::string> MakeCompressedMetadata(const Catalog& catalog, const DcpOutputOptions& options,
                                           std::span<const size_t> items, std::span<const dcp::PlacedItem> places);

}  // namespace dcpctl::ops
