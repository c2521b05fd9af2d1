// Who may include whom, checked on the text of the sources: folders of lib/ against each other, public headers
// against everything, and system or third-party headers against the folders they belong to. Not a compiler:
// it reads lines that begin with `#`, without macros.
#pragma once

#include <string>
#include <vector>

namespace dcpctl::layers {

struct SourceFile {
  std::string path;  // from the root of the repository, with forward slashes: "lib/zip/read.cc"
  std::string text;
};

// One line `path:line: what is wrong` for each broken rule, in the order of `files`.
[[nodiscard]] std::vector<std::string> CheckLayers(const std::vector<SourceFile>& files);

}  // namespace dcpctl::layers
