// Which PyTorch a written checkpoint is for: the homes of its metadata classes and the rules of flattening
// changed over time. Format facts: dcpctl-formats(5), "What each version writes".
#pragma once

#include <string_view>

#include "dcpctl/error.h"
#include "dcpctl/survey.h"

namespace dcpctl::dcp {

struct Compat {
  std::string_view package;      // of Metadata, MetadataIndex, _StorageInfo, ...
  std::string_view properties;   // module of TensorProperties and its enum
  std::string_view format_enum;  // name of that enum
  Flattening flattening = Flattening::kAlways;
};

// The widest range: PyTorch 2.0 and everything after it reads what this makes.
Compat DefaultCompat();
// Of "2.3", "2.3.1", "1.13", ... kUsage for what is no version, kUnsupported for one before DCP (1.13).
Result<Compat> CompatOf(std::string_view version);

}  // namespace dcpctl::dcp
