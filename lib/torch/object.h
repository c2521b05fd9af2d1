// An object of a torch.save file as data of its own: a copy of its graph, and where its storages lie.
#pragma once

#include <cstdint>
#include <memory>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"
#include "torch/storages.h"

namespace dcpctl::torch {

// Copies `value`, a node of the file's document, with all that it refers to. Persistent ids become
// ('storage', class, key, location, items), a view's being those of a storage of its own; each storage that has
// data is listed once. Storages of a class that is not known are taken at the size that they have in the file.
// Which file and record the storages are in is left to the caller. `bytes`, if given, becomes what the copy's values
// take, also when there was an error on the way.
Result<std::shared_ptr<ObjectValue>> CopyObject(const Storages& storages, pickle::Value value, const Limits& limits,
                                                uint64_t* bytes = nullptr);

}  // namespace dcpctl::torch
