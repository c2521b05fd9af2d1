// Which PyTorch a written checkpoint is for: the homes of its metadata classes and the rules of flattening
// changed over time. Format facts: dcpctl-formats(5), "What each version writes".
#pragma once

#include <climits>
#include <string_view>

#include "dcpctl/dtype.h"
#include "dcpctl/error.h"
#include "dcpctl/survey.h"

namespace dcpctl::dcp {

struct Compat {
  std::string_view version;      // as it was asked for; empty: the widest range
  unsigned number = UINT_MAX;    // 1000 * major + minor, for comparisons
  std::string_view package;      // of Metadata, MetadataIndex, _StorageInfo, ...
  std::string_view properties;   // module of TensorProperties and its enum
  std::string_view format_enum;  // name of that enum
  Flattening flattening = Flattening::kAlways;
};

// The widest range: PyTorch 2.0 and everything after it reads what this makes.
Compat DefaultCompat();
// Of "2.3", "2.3.1", "1.13", ... kUsage for what is no version, kUnsupported for one before DCP (1.13).
Result<Compat> CompatOf(std::string_view version);

// kUnsupported for a dtype that this PyTorch does not have yet: it could not even unpickle the metadata.
Result<void> CheckDType(const Compat& compat, DType dtype);

}  // namespace dcpctl::dcp
