#include "zip/read.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "zip/end_record.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

class DirectoryReader {
 public:
  DirectoryReader(const ByteSource& source, uint64_t base, uint64_t length, const Limits& limits)
      : source_(source), limits_(limits), directory_{.base = base, .length = length, .entries = {}, .by_name = {}} {}

  Result<Directory> Read() {
    DCPCTL_ASSIGN(const EndRecord end, ReadEndRecord(source_, directory_.base, directory_.length));
    directory_.directory_offset = end.directory_offset;
    directory_.directory_bytes = end.directory_bytes;
    directory_.end_offset = end.offset;
    DCPCTL_TRY(CheckClaims(end));
    DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source_, end.directory_offset, end.directory_bytes));
    DCPCTL_TRY(ReadEntries(bytes, end.entry_count));
    DCPCTL_TRY(SortNames());
    DCPCTL_TRY(SetBoundaries());
    return std::move(directory_);
  }

 private:
  tl::unexpected<Error> Refuse(uint64_t offset, ErrorKind kind, std::string message) const {
    return Fail(Place{source_.name(), offset}, kind, std::move(message));
  }

  // Before anything is allocated for them.
  Result<void> CheckClaims(const EndRecord& end) const {
    const uint64_t offset = end.directory_offset;
    if (end.directory_bytes > limits_.zip_directory_bytes) {
      return Refuse(offset, ErrorKind::kLimit,
                    "central directory has " + std::to_string(end.directory_bytes) + " bytes, expected at most " +
                        std::to_string(limits_.zip_directory_bytes));
    }
    if (end.entry_count > limits_.entries) {
      return Refuse(offset, ErrorKind::kLimit,
                    "central directory has " + std::to_string(end.entry_count) + " entries, expected at most " +
                        std::to_string(limits_.entries));
    }
    if (end.entry_count > end.directory_bytes / kCentralFixedBytes) {
      return Refuse(offset, ErrorKind::kCorrupt,
                    "end record says " + std::to_string(end.entry_count) + " entries, expected at most " +
                        std::to_string(end.directory_bytes / kCentralFixedBytes) + " in a central directory of " +
                        std::to_string(end.directory_bytes) + " bytes");
    }
    return {};
  }

  Result<void> ReadEntries(std::span<const std::byte> bytes, uint64_t count) {
    ByteCursor in(source_.name(), bytes, directory_.directory_offset);
    directory_.entries.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      DCPCTL_ASSIGN(Entry entry, ReadEntry(in));
      directory_.entries.push_back(std::move(entry));
    }
    if (in.remaining() == 0) return {};
    return Refuse(
        in.offset(), ErrorKind::kCorrupt,
        "central directory has " + std::to_string(in.remaining()) + " bytes after its last entry, expected none");
  }

  Result<Entry> ReadEntry(ByteCursor& in) const {
    const uint64_t place = in.offset();
    Entry entry;
    in.ExpectU32(kCentralSignature, "central directory entry signature");
    in.Skip(2 + 2, "version fields");
    entry.flags = in.U16("flags");
    entry.method = in.U16("compression method");
    in.Skip(2 + 2, "time and date");
    entry.crc = in.U32("CRC-32");
    entry.compressed_bytes = in.U32("compressed size");
    entry.bytes = in.U32("uncompressed size");
    const uint16_t name_bytes = in.U16("name length");
    const uint16_t extra_bytes = in.U16("extra field length");
    const uint16_t comment_bytes = in.U16("comment length");
    in.Skip(2 + 2 + 4, "disk number and attributes");
    entry.header_offset = in.U32("local header offset");
    entry.name = in.Text(name_bytes, "record name");
    const uint64_t extra_offset = in.offset();
    const std::span<const std::byte> extra = in.Bytes(extra_bytes, "extra field");
    in.Skip(comment_bytes, "comment");
    if (in.failed()) return in.Finish(std::move(entry));
    DCPCTL_TRY(ApplyZip64(extra, extra_offset, entry));
    DCPCTL_TRY(CheckEntry(entry, place));
    entry.header_offset += directory_.base;
    return entry;
  }

  // Replaces sentinels by what the zip64 extra field has for them. Without that field they are numbers.
  Result<void> ApplyZip64(std::span<const std::byte> extra, uint64_t offset, Entry& entry) const {
    ByteCursor in(source_.name(), extra, offset);
    while (in.remaining() >= kExtraHeaderBytes) {  // some tools pad with up to 3 bytes
      const uint16_t id = in.U16("extra field id");
      const uint16_t length = in.U16("extra field length");
      const uint64_t field_offset = in.offset();
      const std::span<const std::byte> field = in.Bytes(length, "extra field data");
      if (in.failed()) break;
      if (id != kZip64ExtraId) continue;
      ByteCursor values(source_.name(), field, field_offset);
      if (entry.bytes == kSentinel32) entry.bytes = values.U64("zip64 uncompressed size");
      if (entry.compressed_bytes == kSentinel32) entry.compressed_bytes = values.U64("zip64 compressed size");
      if (entry.header_offset == kSentinel32) entry.header_offset = values.U64("zip64 local header offset");
      DCPCTL_TRY(values.Finish(true));
    }
    DCPCTL_TRY(in.Finish(true));
    return {};
  }

  // `entry.header_offset` is still relative to the archive.
  Result<void> CheckEntry(const Entry& entry, uint64_t place) const {
    if (entry.name.empty()) return Refuse(place, ErrorKind::kCorrupt, "record name is empty, expected a name");
    if (entry.name.find('\0') != std::string::npos) {
      return Refuse(place, ErrorKind::kCorrupt, "name of " + Describe(entry) + " has a NUL byte, expected none");
    }
    if (entry.name.size() > limits_.name_bytes) {
      return Refuse(place, ErrorKind::kLimit,
                    "name of " + Describe(entry) + " has " + std::to_string(entry.name.size()) +
                        " bytes, expected at most " + std::to_string(limits_.name_bytes));
    }
    if (entry.flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeaders)) {
      return Refuse(place, ErrorKind::kCorrupt, Describe(entry) + " is encrypted, expected plain data");
    }
    const uint64_t room = directory_.directory_offset - directory_.base;
    const uint64_t header_bytes = kLocalFixedBytes + entry.name.size();
    if (!InRange(entry.header_offset, header_bytes, room) ||
        !InRange(entry.header_offset + header_bytes, entry.compressed_bytes, room)) {
      return Refuse(place, ErrorKind::kCorrupt,
                    Describe(entry) + " has " + std::to_string(entry.compressed_bytes) + " bytes behind a header at " +
                        Hex(entry.header_offset) + " of the archive, expected to end before the central directory at " +
                        Hex(room));
    }
    return {};
  }

  Result<void> SortNames() {
    const std::vector<Entry>& entries = directory_.entries;
    std::vector<uint32_t>& order = directory_.by_name;
    order.resize(entries.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return entries[a].name < entries[b].name; });
    const auto twin = std::adjacent_find(order.begin(), order.end(),
                                         [&](uint32_t a, uint32_t b) { return entries[a].name == entries[b].name; });
    if (twin == order.end()) return {};
    return Refuse(directory_.directory_offset, ErrorKind::kCorrupt,
                  Describe(entries[*twin]) + " is in the central directory twice, expected once");
  }

  // Sweeps over the records by offset: each must end where the next begins, at the latest. The length of a
  // local extra field is not known yet; FindPayload checks the rest.
  Result<void> SetBoundaries() {
    std::vector<Entry>& entries = directory_.entries;
    std::vector<uint32_t> order(entries.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return entries[a].header_offset < entries[b].header_offset; });
    for (size_t i = 0; i < order.size(); ++i) {
      Entry& entry = entries[order[i]];
      const bool last = i + 1 == order.size();
      entry.boundary = last ? directory_.directory_offset : entries[order[i + 1]].header_offset;
      const uint64_t end = entry.header_offset + kLocalFixedBytes + entry.name.size() + entry.compressed_bytes;
      if (end <= entry.boundary) continue;
      return Refuse(entry.header_offset, ErrorKind::kCorrupt,
                    Describe(entry) + " ends at " + Hex(end) + " or later and overlaps " +
                        Describe(entries[order[i + 1]]) + ", expected to end before it at " + Hex(entry.boundary));
    }
    return {};
  }

  const ByteSource& source_;
  const Limits& limits_;
  Directory directory_;
};

}  // namespace

const Entry* Directory::Find(std::string_view name) const {
  const auto at = std::lower_bound(by_name.begin(), by_name.end(), name,
                                   [&](uint32_t i, std::string_view wanted) { return entries[i].name < wanted; });
  return at != by_name.end() && entries[*at].name == name ? &entries[*at] : nullptr;
}

Result<Directory> ReadDirectory(const ByteSource& source, uint64_t base, uint64_t length, const Limits& limits) {
  return DirectoryReader(source, base, length, limits).Read();
}

std::string Describe(const Entry& entry) { return "record " + Quote(entry.name); }

}  // namespace dcpctl::zip
