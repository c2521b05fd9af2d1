// What the pickles of objects ask of whoever loads them: classes and functions beyond those that PyTorch knows.
// Pure: objects that were not read count for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/finding.h"
#include "dcpctl/inspect.h"

namespace dcpctl::ops {

struct ForeignSummary {
  std::vector<ForeignName> names;  // by name
  uint64_t objects_read = 0;
  uint64_t objects_with_names = 0;
};

ForeignSummary FindForeignNames(const Catalog& catalog, std::span<const EntryRef> entries);

// That a torch.save file with the selected entries (by Catalog::entries) needs weights_only=False, and for which
// names; nothing when torch.load takes it as it is.
std::optional<Finding> NoteForeignNames(const Catalog& catalog, const std::vector<bool>& selected);

}  // namespace dcpctl::ops
