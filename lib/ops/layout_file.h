// A layout written down in JSON, schema "dcpctl.layout/1":
//
//   {"schema": "dcpctl.layout/1",
//    "mesh": {"dp": 8, "tp": 4},                 or [["dp", 8], ["tp", 4]]
//    "placements": [{"match": "model.*.weight", "placement": "dp:shard(0),tp:shard(1)"}],
//    "default": "dp:shard(0)"}
//
// The order of "mesh" is that of its ranks; the array is for tools that sort the members of objects. "placements" and
// "default" may be left out. Their texts are those of `--placement`.
#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/mesh.h"

namespace dcpctl::ops {

// Errors, with the JSON pointer of the place: kCorrupt for what is not such a layout (unknown members and members
// that are there twice, too), kUnsupported for another schema, kLimit for more than Limits::layout_bytes.
Result<MeshLayout> ReadLayoutFile(const ByteSource& file, const Limits& limits = {});

}  // namespace dcpctl::ops
