#include "pickle/persistent_ids.h"

#include "pickle/arena.h"

namespace dcpctl::pickle {

std::vector<Value> PersistentIds(const Document& document) {
  const Document::Arena& arena = document.arena();
  std::vector<Value> ids;
  ids.reserve(arena.all_persistent_ids.size());
  for (const Ref ref : arena.all_persistent_ids) ids.push_back(ValueAccess::Make(document, arena.PersistentIdOf(ref)));
  return ids;
}

}  // namespace dcpctl::pickle
