// A layout of a few records.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"
#include "zip/layout.h"

namespace dcpctl::zip {

inline Result<ArchiveLayout> MakeArchiveLayout(const std::vector<NewRecord>& records) {
  LayoutBuilder builder;
  for (const NewRecord& record : records) DCPCTL_TRY(builder.Add(record));
  return std::move(builder).Finish();
}

}  // namespace dcpctl::zip
