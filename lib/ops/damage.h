// What to do about entries that a survey found damaged: refuse, or leave them out when asked to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"

namespace dcpctl::ops {

// The finding as an error, for a caller that must not go on.
Error ToError(const Catalog& catalog, const Finding& finding);

// The place of an error as findings have it: the file is relative to the checkpoint, and empty when it is that itself.
Place PlaceBelow(const std::filesystem::path& root, const Error& error);

// Clears `selected` for damaged entries and returns how many there were. Without `skip` the first one is the
// error. Damage of entries that are not selected does not matter.
Result<uint64_t> HandleDamage(const Catalog& catalog, bool skip, std::vector<bool>& selected);

}  // namespace dcpctl::ops
