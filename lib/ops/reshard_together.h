// Resharding by several processes. Each makes some of the data files; the first also makes the metadata, and is the one
// that looks at the source to plan and gives the result its name.
#pragma once

#include <filesystem>

#include "dcpctl/convert.h"
#include "io/file_system.h"
#include "ranks/crew.h"

namespace dcpctl::ops {

// Called by all processes of `crew` with the same arguments. All return well, the first one with the report of what
// they did, or all the same error. Ends with Crew::Conclude. `files` is what this process sees.
Result<ConvertReport> ReshardTogether(ranks::Crew& crew, io::FileSystem& files, const std::filesystem::path& source,
                                      const std::filesystem::path& target, const ConvertOptions& options);

}  // namespace dcpctl::ops
