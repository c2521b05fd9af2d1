// File names of a DCP directory: what `__3_0.distcp` means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dcpctl::dcp {

inline constexpr std::string_view kMetadataName = ".metadata";
// What `transform_descriptors` calls an item that is one zstd stream.
inline constexpr std::string_view kZstdTransform = "stream.zstd/1";
inline constexpr std::string_view kUnfinishedMetadataName = ".metadata.tmp";
inline constexpr std::string_view kDataSuffix = ".distcp";

struct DataFileName {
  uint64_t rank = 0;    // position of the writing process in its group
  uint64_t bucket = 0;  // its file counter: writer thread, or item with one file per item
};

// Of `__3_0.distcp`, in any folder; nothing for other names.
std::optional<DataFileName> ParseDataFileName(std::string_view path);
// Of `__3.metadata`, written by a save without collectives.
std::optional<uint64_t> ParseRankMetadataName(std::string_view name);

}  // namespace dcpctl::dcp
