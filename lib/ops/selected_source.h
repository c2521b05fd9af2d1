// The first stages of every conversion: open the source, select entries, look at their bytes, deal with
// damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

struct SelectedSource {
  Catalog catalog;             // surveyed in depth as far as selected
  std::vector<bool> selected;  // by Catalog::entries
  uint64_t left_out = 0;       // damaged, and not selected any more
};

struct OpenOptions {
  Flattening flattening = Flattening::kAlways;  // of sources that are nested themselves
  bool skip_tensors = false;                    // their bytes are not asked for: only objects are surveyed in depth
};

Result<SelectedSource> OpenSelected(io::FileSystem& files, const std::filesystem::path& source,
                                    const ConvertOptions& options, const OpenOptions& open = {});

// Tells the observer, if there is one.
void Announce(const RunOptions& options, std::string_view stage, uint64_t bytes = 0);

// What was converted, for the caller.
void CountEntries(const SelectedSource& source, ConvertReport& report);

}  // namespace dcpctl::ops
