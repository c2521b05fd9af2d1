// WriteFile on a descriptor. Holds its directory open, so that neither chdir nor renaming a parent redirects it.
#pragma once

#include <filesystem>
#include <memory>

#include "io/file.h"
#include "io/system_calls.h"

namespace dcpctl::io {

// See FileSystem::CreateTemp; kUsage when `target` does not end in a file name. `calls` must outlive the result.
Result<std::unique_ptr<WriteFile>> NewPosixWriteFile(const SystemCalls& calls, const std::filesystem::path& target);

}  // namespace dcpctl::io
