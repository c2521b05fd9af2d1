#include "engine/source_reader.h"

#include <utility>

#include "base/result.h"
#include "engine/storage_stream.h"

namespace dcpctl::engine {

SourceReader::SourceReader(const Plan& plan, io::FileCache& cache, io::FileSystem& files, uint64_t decoded_bytes,
                           std::filesystem::path scratch_directory)
    : plan_(plan),
      cache_(cache),
      files_(files),
      scratch_directory_(std::move(scratch_directory)),
      memory_left_(static_cast<int64_t>(decoded_bytes)),
      decoded_(plan.sources.size()) {
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    if (plan.sources[i].stored.codec != Codec::kNone) decoded_[i] = std::make_unique<Decoded>();
  }
  for (const Region& region : plan.regions) {
    for (uint64_t i = 0; i < region.piece_count; ++i) {
      if (auto& slot = decoded_[plan.pieces[region.first_piece + i].source]) ++slot->regions_left;
    }
  }
}

Result<void> SourceReader::Read(uint32_t source, uint64_t pos, std::span<std::byte> out) {
  const PlanSource& from = plan_.sources[source];
  if (from.stored.codec == Codec::kNone) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(from.file));
    bytes_read_ += out.size();
    return file->ReadAt(from.stored.offset + pos, out);
  }
  DCPCTL_ASSIGN(const auto decoded, Decode(source, *decoded_[source]));
  return decoded->ReadAt(pos, out);
}

Result<std::optional<uint32_t>> SourceReader::Land(uint32_t source, uint64_t pos, const DevicePart& to) {
  const PlanSource& from = plan_.sources[source];
  if (from.stored.codec != Codec::kNone) return std::nullopt;
  DCPCTL_ASSIGN(const auto file, cache_.Open(from.file));
  DCPCTL_ASSIGN(const auto crc, file->LandAt(from.stored.offset + pos, to));
  if (crc) bytes_read_ += to.bytes;
  return crc;
}

Result<void> SourceReader::DecodeTo(const PlanSource& source, const ByteSink& sink) {
  DCPCTL_ASSIGN(const auto file, cache_.Open(source.file));
  const EncodedStorage storage{
      .stored = source.stored, .record_offset = source.record_offset, .record_length = source.record_length};
  bytes_read_ += EncodedBytes(storage);
  return StreamStorage(*file, storage, sink);
}

bool SourceReader::ReserveMemory(uint64_t bytes) {
  if (memory_left_.fetch_sub(static_cast<int64_t>(bytes)) >= static_cast<int64_t>(bytes)) return true;
  memory_left_ += static_cast<int64_t>(bytes);
  return false;
}

Result<std::shared_ptr<const ByteSource>> SourceReader::Decode(uint32_t source, Decoded& slot) {
  const std::lock_guard lock(slot.mutex);
  if (slot.bytes) return slot.bytes;
  const PlanSource& from = plan_.sources[source];
  if (ReserveMemory(from.stored.bytes)) {
    slot.in_memory = from.stored.bytes;
    std::vector<std::byte> bytes;
    bytes.reserve(from.stored.bytes);
    DCPCTL_TRY(DecodeTo(from, [&](std::span<const std::byte> part) -> Result<void> {
      bytes.insert(bytes.end(), part.begin(), part.end());
      return {};
    }));
    DCPCTL_ASSIGN(const auto file, cache_.Open(from.file));
    slot.bytes = std::make_shared<MemorySource>(file->name(), std::move(bytes));
    return slot.bytes;
  }
  DCPCTL_ASSIGN(std::shared_ptr<io::ScratchFile> scratch, files_.OpenScratch(scratch_directory_));
  DCPCTL_TRY(DecodeTo(from, [&](std::span<const std::byte> part) { return scratch->WriteAt(scratch->size(), part); }));
  slot.bytes = std::move(scratch);
  return slot.bytes;
}

void SourceReader::FinishRegion(const Region& region) {
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    auto& slot = decoded_[plan_.pieces[region.first_piece + i].source];
    if (!slot) continue;
    const std::lock_guard lock(slot->mutex);
    if (--slot->regions_left > 0) continue;
    slot->bytes.reset();
    memory_left_ += static_cast<int64_t>(std::exchange(slot->in_memory, 0));
  }
}

}  // namespace dcpctl::engine
