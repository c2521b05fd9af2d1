// What a checkpoint holds, key by key, whatever its format, layout and version: the form in which two of them are
// compared and in which a manifest lists one. Keys are those of PyTorch 2.4 and later; an empty dict, which that drops
// when it saves, is nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "io/file_system.h"
#include "ops/key_filter.h"

namespace dcpctl::ops {

struct ContentEntry {
  std::string key;
  EntryRef entry;
};

struct Content {
  Catalog catalog;                    // surveyed in depth as far as `entries` go
  std::vector<ContentEntry> entries;  // by key
};

struct ContentOptions {
  Selection names = {};  // `strip_prefix`, `rename` and `add_prefix`
  std::vector<std::string> allow_globals = {};
  RunOptions run = {};
};

// Entries whose new name the filter wants. Errors: those of Survey and RenamePaths; kCorrupt for damage of an entry
// that is wanted.
Result<Content> OpenContent(io::FileSystem& files, const std::filesystem::path& path, const ContentOptions& options,
                            KeyFilter& filter);

}  // namespace dcpctl::ops
