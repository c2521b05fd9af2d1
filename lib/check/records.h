// Whether the places that the metadata gives are apart: no two entries may have the same bytes.
#pragma once

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"

namespace dcpctl::check {

// dcp.record-overlap, for each record that begins before an earlier one in its file ends.
void CheckRecordPlaces(const Catalog& catalog, Findings& findings);

}  // namespace dcpctl::check
