#include "engine/source_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/result.h"

namespace dcpctl::engine {
namespace {

// Equal for sources that are decoded together.
auto RecordOf(const PlanSource& source) {
  if (source.stored.codec == Codec::kZstd)
    return std::tuple(source.file, true, source.record_offset, source.record_length, uint64_t{0});
  return std::tuple(source.file, false, source.stored.offset, source.stored.encoded_bytes, source.stored.bytes);
}

// Where in what its record decodes to.
DecodedRange DecodedRangeOf(const PlanSource& source) {
  if (source.stored.codec == Codec::kZstd) return RangeOf(source.stored);
  return {.begin = 0, .end = source.stored.bytes};
}

}  // namespace

SourceReader::SourceReader(const Plan& plan, io::FileCache& cache, io::FileSystem& files, uint64_t decoded_bytes,
                           std::filesystem::path scratch_directory)
    : plan_(plan),
      cache_(cache),
      files_(files),
      scratch_directory_(std::move(scratch_directory)),
      memory_left_(static_cast<int64_t>(decoded_bytes)) {
  std::vector<uint32_t> encoded;  // once for each piece that is of it
  for (const Region& region : plan.regions) {
    for (uint64_t i = 0; i < region.piece_count; ++i) {
      const uint32_t source = plan.pieces[region.first_piece + i].source;
      if (plan.sources[source].stored.codec != Codec::kNone) encoded.push_back(source);
    }
  }
  if (!encoded.empty()) GroupByRecord(std::move(encoded));
}

void SourceReader::GroupByRecord(std::vector<uint32_t> sources) {
  const auto key = [this](uint32_t source) {
    const PlanSource& from = plan_.sources[source];
    return std::tuple_cat(RecordOf(from), std::tuple(DecodedRangeOf(from).begin));
  };
  slots_.resize(plan_.sources.size());
  std::sort(sources.begin(), sources.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (size_t i = 0; i < sources.size(); ++i) {
    const PlanSource& from = plan_.sources[sources[i]];
    if (i == 0 || RecordOf(from) != RecordOf(plan_.sources[sources[i - 1]])) {
      decoded_.emplace_back().source = sources[i];
    }
    Decoded& slot = decoded_.back();
    ++slot.regions_left;
    const DecodedRange range = DecodedRangeOf(from);
    if (slot.ranges.empty() || slot.ranges.back().end < range.begin) slot.ranges.push_back({range.begin, range.begin});
    DecodedRange& last = slot.ranges.back();
    slots_[sources[i]] = {.decoded = &slot, .at = slot.size - (last.end - range.begin)};
    slot.size += std::max(last.end, range.end) - last.end;
    last.end = std::max(last.end, range.end);
  }
}

Result<void> SourceReader::Read(uint32_t source, uint64_t pos, std::span<std::byte> out) {
  const PlanSource& from = plan_.sources[source];
  if (from.stored.codec == Codec::kNone) {
    DCPCTL_ASSIGN(const auto file, cache_.Open(from.file));
    bytes_read_ += out.size();
    return file->ReadAt(from.stored.offset + pos, out);
  }
  const Slot& slot = slots_[source];
  DCPCTL_ASSIGN(const auto decoded, Decode(*slot.decoded));
  return decoded->ReadAt(slot.at + pos, out);
}

Result<std::optional<uint32_t>> SourceReader::Land(uint32_t source, uint64_t pos, const DevicePart& to) {
  const PlanSource& from = plan_.sources[source];
  if (from.stored.codec != Codec::kNone) return std::nullopt;
  DCPCTL_ASSIGN(const auto file, cache_.Open(from.file));
  DCPCTL_ASSIGN(const auto crc, file->LandAt(from.stored.offset + pos, to));
  if (crc) bytes_read_ += to.bytes;
  return crc;
}

Result<void> SourceReader::DecodeTo(const Decoded& slot, const ByteSink& sink) {
  const PlanSource& source = plan_.sources[slot.source];
  DCPCTL_ASSIGN(const auto file, cache_.Open(source.file));
  const EncodedStorage storage{
      .stored = source.stored, .record_offset = source.record_offset, .record_length = source.record_length};
  bytes_read_ += EncodedBytes(storage);
  if (source.stored.codec != Codec::kZstd) return StreamStorage(*file, storage, sink);
  return StreamRecord(*file, source.record_offset, source.record_length, slot.ranges,
                      [&sink](size_t, std::span<const std::byte> bytes) { return sink(bytes); });
}

bool SourceReader::ReserveMemory(uint64_t bytes) {
  if (memory_left_.fetch_sub(static_cast<int64_t>(bytes)) >= static_cast<int64_t>(bytes)) return true;
  memory_left_ += static_cast<int64_t>(bytes);
  return false;
}

Result<std::shared_ptr<const ByteSource>> SourceReader::Decode(Decoded& slot) {
  const std::lock_guard lock(slot.mutex);
  if (slot.bytes) return slot.bytes;
  if (ReserveMemory(slot.size)) {
    slot.in_memory = slot.size;
    std::vector<std::byte> bytes;
    bytes.reserve(slot.size);
    DCPCTL_TRY(DecodeTo(slot, [&](std::span<const std::byte> part) -> Result<void> {
      bytes.insert(bytes.end(), part.begin(), part.end());
      return {};
    }));
    DCPCTL_ASSIGN(const auto file, cache_.Open(plan_.sources[slot.source].file));
    slot.bytes = std::make_shared<MemorySource>(file->name(), std::move(bytes));
    return slot.bytes;
  }
  DCPCTL_ASSIGN(std::shared_ptr<io::ScratchFile> scratch, files_.OpenScratch(scratch_directory_));
  DCPCTL_TRY(DecodeTo(slot, [&](std::span<const std::byte> part) { return scratch->WriteAt(scratch->size(), part); }));
  slot.bytes = std::move(scratch);
  return slot.bytes;
}

void SourceReader::FinishRegion(const Region& region) {
  if (slots_.empty()) return;
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    Decoded* const slot = slots_[plan_.pieces[region.first_piece + i].source].decoded;
    if (slot == nullptr) continue;
    const std::lock_guard lock(slot->mutex);
    if (--slot->regions_left > 0) continue;
    slot->bytes.reset();
    memory_left_ += static_cast<int64_t>(std::exchange(slot->in_memory, 0));
  }
}

}  // namespace dcpctl::engine
