// What pickles of the standard library's types look like: the two spellings of built-in names and the
// calls that stand for plain values. Knows names only; nothing is imported.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

struct GlobalName {
  std::string_view module;
  std::string_view name;
  bool operator==(const GlobalName&) const = default;
};

// Protocols 0 to 2 spell built-ins as Python 2 did ("__builtin__", "copy_reg"); newer ones must not.
GlobalName NewSpelling(GlobalName global);
GlobalName OldSpelling(GlobalName global);

// "str", "list", ...: for messages.
std::string_view KindName(Kind kind);

// The class that an object is an instance of, and what it was made with. Sees through the functions that
// pickles call instead of a class: those of copyreg, and functools.partial.
struct Instance {
  Value cls;
  Value args;  // may be more than the class was called with: `first_arg` says where those begin
  size_t first_arg = 0;
  std::optional<Value> kwargs;
};
Instance InstanceOf(Value object);

// "float32" for numpy.dtype('f4'); empty when `dtype` is no such call.
std::string NumpyTypeName(Value dtype);

}  // namespace dcpctl::pickle
