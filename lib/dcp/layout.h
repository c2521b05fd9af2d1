// Lays out a DCP directory byte for byte: data files as rows of torch.save archives, and the `.metadata`
// pickle that finds them. Pure: knows sizes, not contents.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcp/compat.h"
#include "dcpctl/box.h"
#include "dcpctl/catalog.h"
#include "dcpctl/dtype.h"
#include "zip/layout.h"

namespace dcpctl::dcp {

// Payloads of tensors lie on such boundaries of the file: blocks can then be shared with other files, and
// direct I/O needs no fix-up.
inline constexpr uint64_t kPayloadAlignment = 4096;

// An archive to be put into a data file: a tensor of one storage, or the pickle and storages of an object.
struct NewItem {
  std::string pickle;
  std::vector<uint64_t> storage_bytes;  // of data/0, data/1, ...
  bool is_tensor = false;
};

// The archive, with offsets from its own start. Slot ids count the storages.
struct ItemLayout {
  zip::ArchiveLayout archive;
  bool is_tensor = false;
};

Result<ItemLayout> MakeItemLayout(const NewItem& item);

// Where such an item starts in a data file whose items so far end at `end`: there, or some zeros later.
uint64_t StartOf(const ItemLayout& item, uint64_t end);

struct PlacedItem {
  uint64_t offset = 0;  // in the data file
  uint64_t length = 0;
};

// What `.metadata` has to say.
struct NewChunk {
  BoxView box;        // borrowed
  uint32_t file = 0;  // into NewMetadata::files
  PlacedItem place;
  uint32_t transforms = 0;  // into NewMetadata::transform_chains
};

struct NewEntry {
  std::string key;
  std::span<const PathElement> path;  // borrowed, as is the shape
  bool is_tensor = false;
  DType dtype = DType::kFloat32;
  bool requires_grad = false;
  DimsView shape;
  std::vector<NewChunk> chunks;  // of an object: one, with an empty box
};

struct NewMetadata {
  std::vector<std::string> files;  // relative paths
  std::vector<std::vector<std::string>> transform_chains = {{}};
  std::vector<NewEntry> entries;
  bool nested = true;  // record the paths
};

// The pickle. Equal inputs give equal bytes; it holds no time, no host and no random id.
Result<std::string> WriteMetadata(const NewMetadata& metadata, const Compat& compat);

}  // namespace dcpctl::dcp
