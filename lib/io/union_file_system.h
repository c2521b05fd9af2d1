// A folder whose files lie on the disks of several nodes, as one: a file that this process does not see is read through
// another that does. How is the caller's affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_memory.h"
#include "io/file_system.h"

namespace dcpctl::io {

// A file below the folder, as one process sees it.
struct SeenFile {
  std::string name;
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
};

// What this process sees below `folder`; nothing where there is no such folder.
Result<std::vector<SeenFile>> ListSeen(FileSystem& files, const std::filesystem::path& folder);

// For other processes.
std::string EncodeSeen(const std::vector<SeenFile>& seen);
Result<std::vector<SeenFile>> DecodeSeen(std::string_view bytes);

// A file of the folder, wherever it is.
struct UnionFile {
  SeenFile seen;
  unsigned owner = 0;  // the first process that sees it
  bool here = false;   // this process sees the same
};
using UnionListing = std::map<std::string, UnionFile, std::less<>>;

// What all processes see together, by rank. kMismatch for files of one name that are not the same.
Result<UnionListing> JoinSeen(const std::filesystem::path& folder, const std::vector<std::vector<SeenFile>>& all,
                              unsigned self);

// Asks the process `owner` for bytes of its file, to fill `out`. Called from several threads at once.
using FetchBytes =
    std::function<Result<void>(unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out)>;
// The same into memory of a device; see ReadFile::LandAt.
using LandBytes = std::function<Result<std::optional<uint32_t>>(unsigned owner, const std::string& name,
                                                                uint64_t offset, const DevicePart& to)>;

// `folder` and what is in it as the listing says, all else as `here` has it; only `here` is written to. The three must
// outlive it.
std::unique_ptr<FileSystem> NewUnionFileSystem(FileSystem& here, const std::filesystem::path& folder,
                                               const UnionListing& listing, FetchBytes fetch, LandBytes land = {});

}  // namespace dcpctl::io
