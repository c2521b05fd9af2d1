// What a pickle refers to outside itself.
#pragma once

#include <vector>

#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

// What each kPersistentId of the document carries, in the order in which they were made: also of those that
// the root does not reach, because PyTorch loads their storages all the same.
[[nodiscard]] std::vector<Value> PersistentIds(const Document& document);

}  // namespace dcpctl::pickle
