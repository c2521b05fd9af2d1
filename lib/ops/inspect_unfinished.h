// What lies in data files whose metadata is not there: without names, and without what parts of a tensor belong
// together.
#pragma once

#include <filesystem>

#include "dcpctl/inspect.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

// Of a directory that is SourceKind::kUnfinished. There are no keys to select by: kUnsupported.
Result<InspectReport> InspectUnfinished(io::FileSystem& files, const std::filesystem::path& path,
                                        const Identity& identity, const InspectOptions& options);

}  // namespace dcpctl::ops
