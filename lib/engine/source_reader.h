// The storages of a plan as readable bytes, whatever they are wrapped in. What is encoded is decoded once, with all the
// storages of a compressed record together, to memory while a budget lasts and to a scratch file beyond it, and dropped
// when the last region is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/device_memory.h"
#include "base/inflate.h"
#include "dcpctl/plan.h"
#include "engine/storage_stream.h"
#include "io/file_cache.h"
#include "io/file_system.h"

namespace dcpctl::engine {

// Thread-safe. The plan, cache and file system must outlive it.
class SourceReader {
 public:
  SourceReader(const Plan& plan, io::FileCache& cache, io::FileSystem& files, uint64_t decoded_bytes,
               std::filesystem::path scratch_directory);

  // Fills `out` from byte `pos` of the storage on.
  Result<void> Read(uint32_t source, uint64_t pos, std::span<std::byte> out);
  // As io::ReadFile::LandAt, for storages that need no decoding; nothing for the others.
  Result<std::optional<uint32_t>> Land(uint32_t source, uint64_t pos, const DevicePart& to);
  // The region needs its sources no more.
  void FinishRegion(const Region& region);
  // Bytes asked of the source files so far.
  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_.load(); }

 private:
  // The sources of one record, decoded.
  struct Decoded {
    std::mutex mutex;  // held while decoding; guards bytes and those below
    std::shared_ptr<const ByteSource> bytes;
    uint32_t regions_left = 0;
    uint64_t in_memory = 0;
    uint32_t source = 0;               // one of them
    std::vector<DecodedRange> ranges;  // of the record, by offset, apart; one after the other in `bytes`
    uint64_t size = 0;                 // of `bytes`
  };
  // Where an encoded source is.
  struct Slot {
    Decoded* decoded = nullptr;  // null for a source that needs no decoding, or that no region uses
    uint64_t at = 0;
  };

  void GroupByRecord(std::vector<uint32_t> sources);
  Result<std::shared_ptr<const ByteSource>> Decode(Decoded& slot);
  Result<void> DecodeTo(const Decoded& slot, const ByteSink& sink);
  bool ReserveMemory(uint64_t bytes);

  const Plan& plan_;
  io::FileCache& cache_;
  io::FileSystem& files_;
  const std::filesystem::path scratch_directory_;
  std::atomic<int64_t> memory_left_;
  std::atomic<uint64_t> bytes_read_ = 0;
  std::deque<Decoded> decoded_;
  std::vector<Slot> slots_;  // by source; none if none is encoded
};

}  // namespace dcpctl::engine
