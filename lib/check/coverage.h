// Whether the chunks of each tensor tile it.
#pragma once

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"

namespace dcpctl::check {

// dcp.chunk-outside, dcp.chunk-overlap, dcp.coverage-hole, dcp.coverage-undecided, dcp.shape-overflow.
void CheckChunkCoverage(const Catalog& catalog, Findings& findings);

}  // namespace dcpctl::check
