// What is inside a checkpoint, from its metadata alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/stats.h"

namespace dcpctl {

struct InspectOptions {
  Selection selection = {};
  std::string key = {};  // this entry in full; an object's bytes are read for it
  bool has_key = false;  // the empty string is a legal key
  bool names = true;     // fill InspectReport::foreign_names; false: read no objects for it
  bool stats = false;    // fill InspectReport::stats: reads every byte of the tensors, with the tensor plug-in
  RunOptions run = {};   // of these `jobs`, `memory_bytes`, `plugins`, `stop`, `limits` and `observer`
};

struct InspectTotals {
  uint64_t tensors = 0;
  uint64_t objects = 0;
  uint64_t chunks = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;  // elements x item size
  uint64_t files = 0;
  uint64_t file_bytes = 0;
};

// A class or function that pickles of objects name and that torch.load does not know with weights_only=True.
struct ForeignName {
  std::string name;      // "module.name"
  uint64_t entries = 0;  // objects that name it
  bool refused = false;  // as an attack: conversions need ConvertOptions::allow_globals for it
};

// A record of a data file that no metadata names: a tensor, or an object.
struct FoundRecord {
  uint32_t file = 0;  // into Catalog::files
  uint64_t offset = 0;
  uint64_t length = 0;
  bool is_tensor = false;
  DType dtype = DType::kFloat32;  // of a tensor, as is `shape`
  Dims shape = {};
  std::string type = {};     // of an object, as Python would call it
  std::string problem = {};  // why it cannot be read; then nothing above but its place is known
};

struct InspectReport {
  Catalog catalog;  // entries that are selected, in the checkpoint's order
  InspectTotals totals;
  std::optional<EntryRef> entry;           // of InspectOptions::key
  std::vector<ForeignName> foreign_names;  // by name; of the objects that were read
  // Of data files without metadata: then there are no entries, and no names.
  bool without_metadata = false;
  std::vector<FoundRecord> records;  // by file and place
  uint64_t objects_read = 0;         // of a DCP checkpoint none where they are many or large
  // By Catalog::tensors; nothing for types that have no order, and for what cannot be read.
  std::vector<std::optional<TensorStats>> stats = {};
};

[[nodiscard]] Result<InspectReport> Inspect(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace dcpctl
