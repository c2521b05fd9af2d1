// One digest for all pickles of a value, however they were written: by which protocol, with what in the memo, with
// dict entries in which order. What Python's == would call equal has one digest, as far as that can be told without
// running anything: containers by their contents, objects of unknown classes by how they are made.
#pragma once

#include <functional>

#include "base/sha256.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

// The digest of what a persistent id stands for; gets the id.
using PersistentIdDigest = std::function<Result<Sha256Digest>(Value id)>;

// Numbers of different types differ, as do the two zeros of floats; all that is no number is one value. Whether equal
// values are one object or two makes no difference. kLimit for values nested too deeply, and for those that contain
// themselves in so many ways that they cannot be followed.
Result<Sha256Digest> CanonicalDigest(Value value, const PersistentIdDigest& persistent_id, const Limits& limits);

}  // namespace dcpctl::pickle
