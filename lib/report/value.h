// What an object of a checkpoint holds, as text and as JSON. Shows data; nothing is run or imported.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dcpctl/pickle.h"

namespace dcpctl::report {

using Json = nlohmann::ordered_json;

// As Python's repr, tensors as "tensor(float32, [3, 4])". Printable, one line, cut with "..." after 1 MiB.
std::string ValueText(pickle::Value value);

// None, bool, numbers, str, lists, tuples and dicts as their JSON counterparts, dict keys as Python's json
// module writes them; everything else (and numbers that JSON lacks) as a string with its text.
// Cut with "..." beyond 100 levels or a million values.
Json ValueJson(pickle::Value value);

}  // namespace dcpctl::report
