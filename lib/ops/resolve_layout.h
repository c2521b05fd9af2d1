// From the layout that was asked for to what each rank gets.
#pragma once

#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/finding.h"
#include "dcpctl/mesh.h"
#include "io/file_system.h"

namespace dcpctl::ops {

struct ResolvedLayout {
  RankLayout layout;
  Findings notes;
};

// `paths` are the new paths of the entries, none for those that are left out; rules and the checkpoint whose layout is
// taken go by the new keys. Errors: those of Reshard.
Result<ResolvedLayout> ResolveLayout(io::FileSystem& files, const Catalog& catalog, const std::vector<KeyPath>& paths,
                                     const ConvertOptions& options);

}  // namespace dcpctl::ops
