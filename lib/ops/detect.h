// Identify() of survey.h on a file system of the caller's choice. Reads a few bytes of a file, or the names in a
// folder.
#pragma once

#include <filesystem>
#include <string>

#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<Identity> Identify(io::FileSystem& files, const std::filesystem::path& path);

// Commands for one kind of source take no other, so that a slip is noticed. kUnsupported with what the path is, when
// `accepts` says no.
Result<void> CheckKind(io::FileSystem& files, const std::filesystem::path& source, bool (*accepts)(SourceKind),
                       const std::string& command, const std::string& expected);
bool IsDcp(SourceKind kind);

}  // namespace dcpctl::ops
