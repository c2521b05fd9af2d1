// What the metadata's classes look like in a pickle: an instance with a class and a dict of attributes.
#pragma once

#include <optional>
#include <string_view>

#include "dcpctl/pickle.h"

namespace dcpctl::dcp {

// The name of an instance's class, however it was made; empty for anything else.
std::string_view ClassName(pickle::Value value);

// How many attributes an instance has whose state is a dict: to find some takes as long.
size_t AttributeCount(pickle::Value object);

// An attribute of an instance whose state is a dict. Python spells an absent one and None differently; here
// both are nothing.
std::optional<pickle::Value> Attribute(pickle::Value object, std::string_view name);

}  // namespace dcpctl::dcp
