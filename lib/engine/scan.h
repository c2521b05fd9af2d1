// Reads the regions of plans tile by tile and hands the bytes to a visitor: for who looks at tensors and writes
// nothing. Of several plans with the same regions the same tiles are read side by side.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>

#include "dcpctl/error.h"
#include "dcpctl/observer.h"
#include "dcpctl/plan.h"
#include "io/file_system.h"

namespace dcpctl::engine {

enum class ScanOrder : uint8_t {
  kAny,       // tiles come from several threads in any order
  kInRegion,  // the tiles of a region come one after the other, from front to back; those of several side by side
};

struct ScanInput {
  std::span<const Plan> plans;  // each with as many regions, of the same shapes and item sizes, in one output
  io::FileSystem& files;
  std::filesystem::path scratch_directory;
  ScanOrder order = ScanOrder::kAny;
  unsigned jobs = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;  // for all plans; of less than 4 MiB a plan, that much is used
  std::stop_token stop = {};
  Observer* observer = nullptr;
};

// Bytes from `begin` on of the region, once for each plan, little-endian and in row-major order.
using TileVisitor =
    std::function<Result<void>(uint32_t region, uint64_t begin, std::span<const std::span<const std::byte>> tiles)>;

// Every byte of every region is visited once; regions without bytes are not. Storages are compared with the checksums
// that their writer recorded. Returns how many bytes were read. Errors: those of the visitor; kIo, kCorrupt (a checksum
// does not match), kMismatch (a source changed), kCancelled.
Result<uint64_t> ScanPlans(const ScanInput& input, const TileVisitor& visit);

}  // namespace dcpctl::engine
