// A checkpoint's entries as another PyTorch would have made them: from 2.4 on a container is many entries where
// before it was one, and a checkpoint of one kind does not load in the other. An empty dict, which PyTorch drops
// when it saves, keeps an entry: nothing is lost, and a load asks only for what it knows.
#pragma once

#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/survey.h"

namespace dcpctl::ops {

struct Reflattened {
  Catalog catalog;             // its entries are new; files, and chunks that were there before, are as they were
  std::vector<KeyPath> paths;  // by Catalog::entries
  std::vector<bool> made;      // by Catalog::entries: has no record of its own and must be written
};

// What is there before: `paths` of the entries to keep, by Catalog::entries, none where it is left out; `removed` are
// places of lists to be kept open. Objects must have been surveyed. Errors: kMismatch when two paths want the same
// place, those of torch::Flatten.
struct FlatEntries {
  Catalog catalog;
  std::vector<KeyPath> paths;
  std::vector<KeyPath> removed;
};
Result<Reflattened> Reflatten(FlatEntries entries, Flattening rules, const Limits& limits);

// Whether PyTorch 2.4 and later would make many entries of this object.
bool IsWholeContainer(const Object& object, const Limits& limits);

}  // namespace dcpctl::ops
