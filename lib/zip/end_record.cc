#include "zip/end_record.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

// The fields of the classic and the zip64 end record that matter, and where the record begins.
struct Fields {
  uint64_t offset = 0;  // absolute
  uint64_t disk = 0;
  uint64_t directory_disk = 0;
  uint64_t disk_entries = 0;
  uint64_t entries = 0;
  uint64_t directory_bytes = 0;
  uint64_t directory_pos = 0;  // relative to the archive
};

// The last bytes of the archive. One read serves the usual case; see ReadTail.
struct Tail {
  uint64_t offset;
  std::vector<std::byte> bytes;
};

// Long enough for the end record without a comment, the locator and PyTorch's zip64 record.
constexpr uint64_t kShortTail = kEndFixedBytes + kLocatorBytes + kEnd64Bytes;
constexpr uint64_t kLongTail = kEndSearchBytes + kLocatorBytes + kEnd64Bytes;

Result<Tail> ReadTail(const ByteSource& source, uint64_t base, uint64_t length, uint64_t most) {
  const uint64_t count = std::min(length, most);
  Tail tail{.offset = base + (length - count), .bytes = {}};
  DCPCTL_ASSIGN(tail.bytes, ReadRange(source, tail.offset, count));
  return tail;
}

uint64_t LittleEndian(std::span<const std::byte> bytes, size_t pos, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[pos + i]);
  return value;
}

// Position in `tail` of an end record whose comment reaches exactly to the end.
std::optional<size_t> FindEndRecord(std::span<const std::byte> tail) {
  if (tail.size() < kEndFixedBytes) return std::nullopt;
  const size_t last = tail.size() - kEndFixedBytes;
  const size_t first = last > kMaxCommentBytes ? last - kMaxCommentBytes : 0;
  for (size_t pos = last + 1; pos-- > first;) {
    if (LittleEndian(tail, pos, 4) == kEndSignature && LittleEndian(tail, pos + kEndFixedBytes - 2, 2) == last - pos) {
      return pos;
    }
  }
  return std::nullopt;
}

tl::unexpected<Error> NoEndRecord(const ByteSource& source, uint64_t base, uint64_t length) {
  const uint64_t searched = std::min<uint64_t>(length, kEndSearchBytes);
  return Fail(
      Error(ErrorKind::kCorrupt, Place{source.name(), base + (length - searched)},
            "zip archive is cut off or not a zip archive: no end of central directory record in the last " +
                std::to_string(searched) + " of " + std::to_string(length) + " bytes, expected signature " +
                Hex(kEndSignature, 8) + " there")
          .Advise("compare the size with that of the original; an interrupted copy or download looks like this"));
}

Result<Fields> ReadClassic(const ByteSource& source, const Tail& tail, size_t pos) {
  ByteCursor in(source.name(), std::span(tail.bytes).subspan(pos), tail.offset + pos);
  Fields fields{.offset = in.offset()};
  in.ExpectU32(kEndSignature, "end of central directory signature");
  fields.disk = in.U16("disk number");
  fields.directory_disk = in.U16("directory disk number");
  fields.disk_entries = in.U16("entry count of this disk");
  fields.entries = in.U16("entry count");
  fields.directory_bytes = in.U32("central directory size");
  fields.directory_pos = in.U32("central directory offset");
  return in.Finish(fields);
}

// Offset of the zip64 end record, if a locator says that there is one.
Result<std::optional<uint64_t>> ReadLocator(const ByteSource& source, uint64_t base, const Tail& tail, size_t end_pos) {
  if (end_pos < kLocatorBytes) return std::nullopt;
  const size_t pos = end_pos - kLocatorBytes;
  if (LittleEndian(tail.bytes, pos, 4) != kLocatorSignature) return std::nullopt;
  ByteCursor in(source.name(), std::span(tail.bytes).subspan(pos), tail.offset + pos);
  in.Skip(4, "zip64 locator signature");
  const uint32_t disk = in.U32("zip64 end record disk");
  const uint64_t end64_pos = in.U64("zip64 end record offset");
  // Before the disk count is read, so that the message points at the offset.
  if (!InRange(end64_pos, kEnd64Bytes, tail.offset + pos - base)) {
    in.Reject(ErrorKind::kCorrupt, "zip64 end record offset is " + Hex(end64_pos) + ", expected at most " +
                                       Hex(tail.offset + pos - base) + " less " + std::to_string(kEnd64Bytes));
  }
  const uint32_t disks = in.U32("disk count");
  if (disk != 0 || disks > 1) {
    in.Reject(ErrorKind::kCorrupt, "zip archive has " + std::to_string(disks) + " disks, expected 1");
  }
  return in.Finish(std::optional(base + end64_pos));
}

Result<Fields> ReadZip64(const ByteSource& source, const Tail& tail, uint64_t offset, uint64_t locator_offset) {
  std::vector<std::byte> own;
  std::span<const std::byte> bytes;
  if (offset >= tail.offset) {
    bytes = std::span(tail.bytes).subspan(offset - tail.offset, kEnd64Bytes);
  } else {
    DCPCTL_ASSIGN(own, ReadRange(source, offset, kEnd64Bytes));
    bytes = own;
  }
  ByteCursor in(source.name(), bytes, offset);
  Fields fields{.offset = offset};
  in.ExpectU32(kEnd64Signature, "zip64 end of central directory signature");
  const uint64_t size = in.U64("zip64 end record size");
  const uint64_t room = locator_offset - offset - kEnd64UncountedBytes;
  if (size < kEnd64Bytes - kEnd64UncountedBytes || size > room) {
    in.Reject(ErrorKind::kCorrupt, "zip64 end record size is " + std::to_string(size) + ", expected " +
                                       std::to_string(kEnd64Bytes - kEnd64UncountedBytes) + " to " +
                                       std::to_string(room));
  }
  in.Skip(2 + 2, "version fields");
  fields.disk = in.U32("disk number");
  fields.directory_disk = in.U32("directory disk number");
  fields.disk_entries = in.U64("entry count of this disk");
  fields.entries = in.U64("entry count");
  fields.directory_bytes = in.U64("central directory size");
  fields.directory_pos = in.U64("central directory offset");
  return in.Finish(fields);
}

Result<void> CheckOneDisk(const ByteSource& source, const Fields& fields) {
  if (fields.disk == 0 && fields.directory_disk == 0 && fields.disk_entries == fields.entries) return {};
  return Fail(Place{source.name(), fields.offset}, ErrorKind::kCorrupt,
              "zip archive is split over several disks (this is disk " + std::to_string(fields.disk) + ", " +
                  std::to_string(fields.disk_entries) + " of " + std::to_string(fields.entries) +
                  " entries on it), expected one");
}

// Readers that know no zip64 and those that do must see the same archive.
Result<void> CheckAgree(const ByteSource& source, const Fields& classic, const Fields& zip64) {
  const auto agree = [](uint64_t small, uint64_t large, uint64_t sentinel) {
    return small == large || small == sentinel;
  };
  if (agree(classic.entries, zip64.entries, kSentinel16) &&
      agree(classic.directory_bytes, zip64.directory_bytes, kSentinel32) &&
      agree(classic.directory_pos, zip64.directory_pos, kSentinel32)) {
    return {};
  }
  return Fail(Place{source.name(), classic.offset}, ErrorKind::kCorrupt,
              "end record says " + std::to_string(classic.entries) + " entries in " +
                  std::to_string(classic.directory_bytes) + " bytes at " + Hex(classic.directory_pos) +
                  ", expected those of the zip64 end record: " + std::to_string(zip64.entries) + " in " +
                  std::to_string(zip64.directory_bytes) + " at " + Hex(zip64.directory_pos));
}

}  // namespace

Result<EndRecord> ReadEndRecord(const ByteSource& source, uint64_t base, uint64_t length) {
  if (!InRange(base, length, source.size())) {
    return Fail(Place{source.name(), base}, ErrorKind::kCorrupt,
                "archive of " + std::to_string(length) + " bytes ends past the end of the file, expected at most " +
                    std::to_string(source.size()) + " bytes in all");
  }
  DCPCTL_ASSIGN(Tail tail, ReadTail(source, base, length, kShortTail));
  std::optional<size_t> pos = FindEndRecord(tail.bytes);
  // Again also when a locator may lie before what was read.
  if (!pos || (*pos < kLocatorBytes && tail.bytes.size() < length)) {
    DCPCTL_ASSIGN(tail, ReadTail(source, base, length, kLongTail));
    pos = FindEndRecord(tail.bytes);
  }
  if (!pos) return NoEndRecord(source, base, length);

  DCPCTL_ASSIGN(Fields fields, ReadClassic(source, tail, *pos));
  DCPCTL_ASSIGN(const std::optional<uint64_t> end64_offset, ReadLocator(source, base, tail, *pos));
  if (end64_offset) {
    DCPCTL_ASSIGN(const Fields zip64, ReadZip64(source, tail, *end64_offset, fields.offset - kLocatorBytes));
    DCPCTL_TRY(CheckAgree(source, fields, zip64));
    fields = zip64;
  }
  DCPCTL_TRY(CheckOneDisk(source, fields));
  if (!InRange(fields.directory_pos, fields.directory_bytes, fields.offset - base)) {
    return Fail(Place{source.name(), fields.offset}, ErrorKind::kCorrupt,
                "central directory of " + std::to_string(fields.directory_bytes) + " bytes at " +
                    Hex(fields.directory_pos) + " of the archive, expected to end before its end record at " +
                    Hex(fields.offset - base));
  }
  return EndRecord{.entry_count = fields.entries,
                   .directory_offset = base + fields.directory_pos,
                   .directory_bytes = fields.directory_bytes,
                   .offset = fields.offset};
}

}  // namespace dcpctl::zip
