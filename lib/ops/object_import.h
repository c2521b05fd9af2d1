// Putting an object's graph into an output's pickle. Everything stays as its own pickle says, but for the
// keys of its storages, which are numbered by the output.
#pragma once

#include <functional>
#include <string>

#include "dcpctl/catalog.h"
#include "dcpctl/pickle.h"

namespace dcpctl::ops {

// `new_key` is asked once for each storage with data, in the order of first use.
Result<pickle::Value> ImportObject(pickle::Document& target, const Object& object,
                                   const std::function<std::string(const ObjectStorage&)>& new_key);

}  // namespace dcpctl::ops
