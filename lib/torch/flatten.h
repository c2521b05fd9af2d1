// Takes a nested state dict apart by PyTorch's rules, so that a torch.save file and a DCP checkpoint of the
// same state have the same keys. From 2.4 on mappings are always descended, lists when a tensor or a mapping is
// somewhere in their lists, everything else is a leaf; an empty mapping leaves nothing. Earlier versions have
// other rules: see Flattening.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"
#include "dcpctl/survey.h"

namespace dcpctl::torch {

struct Leaf {
  KeyPath path;
  std::string key;  // JoinPath(path)
  pickle::Value value;
  bool key_is_certain = true;  // whether Python makes the same text of all dict keys on the path
};

// A dict, or an object that Python would call a Mapping as far as its pickle tells: OrderedDict, defaultdict,
// Counter, and instances that their pickle gives items.
[[nodiscard]] bool IsMapping(pickle::Value value);

// What becomes of an empty mapping that is not the root.
enum class EmptyMappings : uint8_t {
  kDrop,  // nothing, as in PyTorch from 2.4 on
  kKeep,  // a leaf: an entry that PyTorch does not ask for and gives back
};

// Whether PyTorch from 2.4 on would make entries of what is in it: not of an empty mapping, which has none.
[[nodiscard]] bool IsTakenApart(pickle::Value value, const Limits& limits);

// In iteration order. A root that is no mapping is one leaf with an empty path. Keys may repeat. `file` is
// for messages. Errors: kLimit for too many leaves, too long keys, or containers nested too deeply, as those
// that contain themselves are.
Result<std::vector<Leaf>> Flatten(pickle::Value root, std::string_view file, const Limits& limits,
                                  Flattening rules = Flattening::kAlways, EmptyMappings empty = EmptyMappings::kDrop);

}  // namespace dcpctl::torch
