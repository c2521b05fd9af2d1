// Names with parts ("model.layers.0.weight") as an indented tree. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dcpctl::text {

struct TreeLine {
  std::string text;            // "│   ├── weight"
  std::optional<size_t> item;  // position in `names` of the name that ends here
};

struct TreeOptions {
  char separator = '.';
  // Parts beyond this many stay joined in the last label: bounds the width of a line, whatever a name holds.
  size_t max_depth = 16;
};

// Children stand in the order in which they first appear. An empty part is shown as "". A name given twice gets two
// lines. Labels pass through Printable.
std::vector<TreeLine> TreeLines(std::span<const std::string> names, const TreeOptions& options = {});

}  // namespace dcpctl::text
