// Whether the files of a checkpoint stayed as they were while it was looked at. One that is still being written is
// not damaged, and what was seen of it is of the moment.
#pragma once

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"
#include "io/file_system.h"

namespace dcpctl::check {

// Compares size and modification time with those of the catalog: dcp.being-written, torch.being-written, which take
// the place of the errors about the file.
void CheckMovement(io::FileSystem& files, const Catalog& catalog, Findings& findings);

// The same for a file of which only that is known.
Finding BeingWritten(Format format, const std::string& file, const std::string& how);

}  // namespace dcpctl::check
