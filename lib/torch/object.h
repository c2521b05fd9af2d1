// An object of an archive as data of its own: a copy of its graph, and where its storages lie.
#pragma once

#include <memory>

#include "base/byte_source.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"
#include "torch/archive.h"

namespace dcpctl::torch {

// Copies `value`, a node of the archive's document, with all that it refers to. Its persistent ids stay as
// they are; each storage that has data is listed once. Storages of a class that is not known are taken at the
// size of their record. Which file and record the storages are in is left to the caller.
Result<std::shared_ptr<ObjectValue>> CopyObject(const ByteSource& source, const Archive& archive, pickle::Value value,
                                                const Limits& limits);

}  // namespace dcpctl::torch
