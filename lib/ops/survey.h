// Survey() of survey.h on a file system of the caller's choice.
#pragma once

#include <filesystem>

#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<Catalog> Survey(io::FileSystem& files, const std::filesystem::path& source, const SurveyOptions& options);

}  // namespace dcpctl::ops
