// Reads tensors for what is in them, and writes nothing: each region of a plan in row-major order, in blocks whose
// limits depend on nothing but the number of elements. What is computed block by block and put together in that order
// is the same on any number of threads, with any memory, and however the tensor is cut into chunks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "dcpctl/observer.h"
#include "dcpctl/plan.h"
#include "io/file_system.h"

namespace dcpctl::engine {

inline constexpr uint64_t kScanBlock = uint64_t{1} << 16;  // elements
// Consecutive blocks that come in order on one thread.
inline constexpr uint64_t kScanGroup = 16 * kScanBlock;

struct BlockScanInput {
  const Plan& plan;  // whose outputs are only names; nothing in it is cast
  io::FileSystem& files;
  std::filesystem::path scratch_directory;
  unsigned jobs = 0;  // 0: one per core
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::stop_token stop = {};
  Observer* observer = nullptr;
};

struct ScanBlock {
  uint32_t region = 0;
  uint64_t group = 0;  // of the region
  uint64_t first = 0;  // element of the region
  uint64_t count = 0;
  std::span<const std::byte> bytes = {};
};

// `look` is called on several threads. What cannot be read, or is not what its writer's checksum says, is an error of
// its region, by regions, and stops only that.
// Errors: kMismatch when a source changed, kCancelled, kLimit, those of `look`.
Result<std::vector<std::optional<Error>>> ScanBlocks(const BlockScanInput& input,
                                                     const std::function<Result<void>(const ScanBlock&)>& look);

}  // namespace dcpctl::engine
