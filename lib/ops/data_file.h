// One data file of a DCP checkpoint, looked at through the metadata beside it.
#pragma once

#include <filesystem>
#include <optional>

#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

// The checkpoint that `file` belongs to, with only the entries and chunks that lie in it. Nothing when no
// folder above it has metadata that names it.
Result<std::optional<Catalog>> SurveyDataFile(io::FileSystem& files, const std::filesystem::path& file,
                                              const SurveyOptions& options);

}  // namespace dcpctl::ops
