// An object of a torch.save file as data of its own: a copy of its graph, and where its storages lie.
#pragma once

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
// Which file and record the storages are in is left to the caller.
Result<std::shared_ptr<ObjectValue>> CopyObject(const Storages& storages, pickle::Value value, const Limits& limits);

}  // namespace dcpctl::torch
