#include "zip/search.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/result.h"
#include "zip/end_record.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

// Archives mostly follow each other directly or after little padding; the steps back grow where there is more.
constexpr uint64_t kFirstBlock = 512;
constexpr uint64_t kMostBlock = uint64_t{256} << 10;

// Of the zip64 end record at `offset`, where the record says its directory is: relative to the archive.
Result<std::optional<uint64_t>> DirectoryEndOfZip64(const ByteSource& source, uint64_t offset) {
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, offset, kEnd64Bytes));
  ByteCursor in(source.name(), bytes, offset);
  if (in.U32("signature") != kEnd64Signature) return std::optional<uint64_t>();
  in.Skip(kEnd64Bytes - 4 - 2 * 8, "counts");
  const uint64_t directory_bytes = in.U64("central directory size");
  return CheckedAdd(directory_bytes, in.U64("central directory offset"));
}

struct Ending {
  uint64_t offset;         // of the first end record
  uint64_t directory_end;  // relative to the archive
};

// What the end record at `offset` says, and the zip64 record before it if there is one.
Result<std::optional<Ending>> ReadEnding(const ByteSource& source, uint64_t begin, uint64_t offset) {
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, offset, kEndFixedBytes));
  ByteCursor in(source.name(), bytes, offset);
  in.Skip(kEndFixedBytes - 2 - 2 * 4, "signature, disks and counts");
  const uint64_t directory_bytes = in.U32("central directory size");
  const Ending classic{.offset = offset, .directory_end = directory_bytes + in.U32("central directory offset")};
  constexpr uint64_t kBefore = kLocatorBytes + kEnd64Bytes;
  if (offset - begin < kBefore) return std::optional(classic);
  DCPCTL_ASSIGN(const std::optional<uint64_t> wide, DirectoryEndOfZip64(source, offset - kBefore));
  if (!wide) return std::optional(classic);
  return std::optional(Ending{.offset = offset - kBefore, .directory_end = *wide});
}

// The archive whose end record is at `offset`.
Result<std::optional<ArchiveRange>> ArchiveEndingAt(const ByteSource& source, uint64_t begin, uint64_t offset) {
  DCPCTL_ASSIGN(const std::optional<Ending> ending, ReadEnding(source, begin, offset));
  if (!ending || ending->directory_end > ending->offset - begin) return std::optional<ArchiveRange>();
  const ArchiveRange range{.begin = ending->offset - ending->directory_end, .end = offset + kEndFixedBytes};
  const auto end = ReadEndRecord(source, range.begin, range.end - range.begin);
  if (!end && end.error().kind() == ErrorKind::kIo) return Fail(end.error());
  if (!end || end->entry_count == 0) return std::optional<ArchiveRange>();
  DCPCTL_ASSIGN(const std::vector<std::byte> head, ReadRange(source, range.begin, 4));
  ByteCursor in(source.name(), head, range.begin);
  if (in.U32("signature") != kLocalSignature) return std::optional<ArchiveRange>();
  return std::optional(range);
}

Result<uint64_t> FindFirstNonZero(const ByteSource& source, uint64_t begin, uint64_t end) {
  for (uint64_t block = kFirstBlock; begin < end; block = std::min(2 * block, kMostBlock)) {
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, begin, std::min(block, end - begin)));
    const auto first = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    begin += static_cast<uint64_t>(first - bytes.begin());
    if (first != bytes.end()) break;
  }
  return begin;
}

bool IsEndRecord(const ByteSource& source, std::span<const std::byte> bytes) {
  ByteCursor in(source.name(), bytes, 0);
  return in.U32("signature") == kEndSignature;
}

}  // namespace

Result<uint64_t> FindLastNonZero(const ByteSource& source, uint64_t begin, uint64_t end) {
  for (uint64_t block = kFirstBlock; end > begin; block = std::min(2 * block, kMostBlock)) {
    const uint64_t count = std::min(block, end - begin);
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, end - count, count));
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
    if (last != bytes.rend()) return end - static_cast<uint64_t>(last - bytes.rbegin());
    end -= count;
  }
  return begin;
}

Result<std::optional<ArchiveRange>> FindLastArchive(const ByteSource& source, uint64_t begin, uint64_t end) {
  DCPCTL_ASSIGN(const uint64_t last, FindLastNonZero(source, begin, end));
  // An end record itself ends in zeros: the length of its comment, and more.
  const uint64_t stop = std::min(end, last + kEndFixedBytes);
  const uint64_t start = last - std::min<uint64_t>(kEndFixedBytes, last - begin);
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, start, stop - start));
  for (size_t pos = bytes.size(); pos-- > 0;) {
    const auto rest = std::span(bytes).subspan(pos);
    if (rest.size() < kEndFixedBytes || !IsEndRecord(source, rest)) continue;
    DCPCTL_ASSIGN(const auto range, ArchiveEndingAt(source, begin, start + pos));
    if (range) return range;
  }
  return std::optional<ArchiveRange>();
}

Result<std::optional<ArchiveRange>> FindFirstArchive(const ByteSource& source, uint64_t begin, uint64_t end) {
  DCPCTL_ASSIGN(const uint64_t first, FindFirstNonZero(source, begin, end));
  for (uint64_t at = first; end - at >= kEndFixedBytes;) {
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, at, std::min(kMostBlock, end - at)));
    for (size_t pos = 0; pos + kEndFixedBytes <= bytes.size(); ++pos) {
      if (bytes[pos] != std::byte{'P'} || !IsEndRecord(source, std::span(bytes).subspan(pos))) continue;
      DCPCTL_ASSIGN(const auto range, ArchiveEndingAt(source, first, at + pos));
      if (range && range->begin == first) return range;
    }
    at += bytes.size() - (kEndFixedBytes - 1);  // an end record may lie across two blocks
  }
  return std::optional<ArchiveRange>();
}

Result<std::optional<ArchiveRange>> FindArchiveBeforeJunk(const ByteSource& source) {
  const uint64_t count = std::min<uint64_t>(source.size(), kEndSearchBytes);
  const uint64_t start = source.size() - count;
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, start, count));
  for (size_t pos = bytes.size(); pos-- > 0;) {
    const auto rest = std::span(bytes).subspan(pos);
    if (rest.size() < kEndFixedBytes || !IsEndRecord(source, rest)) continue;
    DCPCTL_ASSIGN(const auto range, ArchiveEndingAt(source, 0, start + pos));
    if (range) return range;
  }
  return std::optional<ArchiveRange>();
}

}  // namespace dcpctl::zip
