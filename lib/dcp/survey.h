// What a DCP directory contains, as a Catalog.
#pragma once

#include <filesystem>
#include <functional>

#include "dcp/catalog_builder.h"
#include "dcp/extents.h"
#include "dcpctl/catalog.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::dcp {

// For who checks a checkpoint while it is surveyed.
struct SurveyHooks {
  RecordHooks records = {};
  std::function<void(const SpareRecord&)> on_spare = {};  // from one thread
  bool goes_on = false;  // data files that cannot be opened are findings (file.unreadable), not errors
};

// Reads `.metadata`, or the metadata of every rank after a save without collectives, and joins it. See
// dcpctl::Survey for what is an error and what a finding.
Result<Catalog> SurveyDirectory(io::FileSystem& files, const std::filesystem::path& root, const SurveyOptions& options,
                                const SurveyHooks& hooks = {});

}  // namespace dcpctl::dcp
