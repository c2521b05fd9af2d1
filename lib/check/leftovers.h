// What an interrupted or an earlier save has left in the directory of a checkpoint.
#pragma once

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"
#include "io/file_system.h"

namespace dcpctl::check {

// dcp.unfinished-metadata: a .metadata.tmp beside the metadata. dcp.rank-missing: data of a rank whose metadata is not
// there, after a save without collectives.
Result<void> CheckLeftovers(io::FileSystem& files, const Catalog& catalog, Findings& findings);

}  // namespace dcpctl::check
