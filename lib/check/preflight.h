// What can be known to go wrong before the first byte is written.
#pragma once

#include <cstdint>
#include <filesystem>

#include "dcpctl/error.h"
#include "io/file_system.h"

namespace dcpctl::check {

// How a target is written.
enum class TargetKind : uint8_t {
  kFile,            // a new file, or one to be replaced
  kStandardOutput,  // "-"
  kStream,          // an existing FIFO or device
};

// Whether `target` may be written from `source` at all: its folder is there, it is not the source, nor in it,
// nor a link to it, and does not exist unless `force`. Errors: kNotFound, kExists, kUsage.
Result<TargetKind> CheckTarget(io::FileSystem& files, const std::filesystem::path& source,
                               const std::filesystem::path& target, bool force);

// The same for new metadata of the checkpoint `source`, which may be put beside its data files. What is in a source
// is never replaced.
Result<TargetKind> CheckMetadataTarget(io::FileSystem& files, const std::filesystem::path& source,
                                       const std::filesystem::path& target, bool force);

// The same for a directory. An existing one must be empty, or with `force` a DCP checkpoint or what is left of one:
// nothing else is ever removed.
Result<void> CheckDirectoryTarget(io::FileSystem& files, const std::filesystem::path& source,
                                  const std::filesystem::path& target, bool force);

// kIo when the file system of `target` has less room than `bytes`.
Result<void> CheckSpace(io::FileSystem& files, const std::filesystem::path& target, uint64_t bytes);

}  // namespace dcpctl::check
