// What holds of every catalog, whatever it was made of.
#pragma once

#include "dcpctl/catalog.h"

namespace dcpctl::fuzz {

void CheckCatalog(const Catalog& catalog);

}  // namespace dcpctl::fuzz
