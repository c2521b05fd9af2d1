// Components of keys that come from wrapping a module and not from the module itself. Pure.
#pragma once

#include <optional>

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"

namespace dcpctl::ops {

// One note for all entries, with the options that take the names out. `module` is a name that any module may have: it
// counts only where it is in front of everything, in the checkpoint or below one of its outermost names.
std::optional<Finding> NoteWrapperNames(const Catalog& catalog);

}  // namespace dcpctl::ops
