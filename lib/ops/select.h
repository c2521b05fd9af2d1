// Which entries of a checkpoint are meant, and what they are called afterwards. Pure: works on names alone.
#pragma once

#include <string_view>
#include <vector>

#include "base/text_hash.h"
#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"

namespace dcpctl::ops {

// Whether `pattern` names `key` or a container that it is in. Both are split at dots; a component of the
// pattern is a glob (glob.h) for one component of the key, `**` stands for any number of them. A pattern that is the
// key, character by character, always matches, so a key with brackets can be given as it is.
bool MatchesKey(std::string_view pattern, std::string_view key);

// One answer for each of Catalog::entries. Errors: kNotFound for a pattern that matches nothing, with near
// names in the advice, and for a selection that leaves nothing.
Result<std::vector<bool>> SelectEntries(const Catalog& catalog, const Selection& selection);

// The keys of those entries that are selected.
TextSet KeysOf(const Catalog& catalog, const std::vector<bool>& selected);

// Whether it gives other names to what it selects.
bool RenamesAny(const Selection& selection);

// `path` under strip_prefix, the renamings, add_prefix, in this order. A prefix that is all of the path stays; a
// renaming may leave nothing of it.
KeyPath NewPath(const KeyPath& path, const Selection& selection);

// New paths of the selected entries, in the order of Catalog::entries. Errors: kMismatch, naming both old
// keys, when two entries would get one key, or one would lie inside another; kMismatch for a renaming
// that leaves nothing of a key; kNotFound when strip_prefix or a renaming fits no selected key, with near names in the
// advice; kUsage for a renaming that replaces nothing.
Result<std::vector<KeyPath>> RenamePaths(const Catalog& catalog, const std::vector<bool>& selected,
                                         const Selection& selection);

// Whether the paths of all entries are their keys, so that no two can be one or lie inside each other.
bool AreNamedByKeys(const Catalog& catalog);

}  // namespace dcpctl::ops
