#include "zip/span.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/quote.h"
#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

// 4.3.9: the signature may be left out, and sizes have eight bytes in zip64 archives. Nothing says which form it is.
struct DescriptorForm {
  bool has_signature;
  bool wide_sizes;
  [[nodiscard]] uint64_t bytes() const {
    return (wide_sizes ? kDescriptor64Bytes : kDescriptorBytes) - (has_signature ? 0 : 4);
  }
};
constexpr std::array<DescriptorForm, 4> kForms = {{{true, true}, {true, false}, {false, true}, {false, false}}};

bool Matches(const ByteSource& source, std::span<const std::byte> bytes, uint64_t offset, const DescriptorForm& form,
             const Entry& entry) {
  if (bytes.size() < form.bytes()) return false;
  ByteCursor in(source.name(), bytes, offset);
  if (form.has_signature && in.U32("signature") != kDescriptorSignature) return false;
  if (in.U32("CRC-32") != entry.crc) return false;
  const uint64_t compressed = form.wide_sizes ? in.U64("compressed size") : in.U32("compressed size");
  const uint64_t plain = form.wide_sizes ? in.U64("size") : in.U32("size");
  return compressed == entry.compressed_bytes && plain == entry.bytes;
}

// Of the descriptor at `offset`.
Result<uint64_t> DescriptorBytes(const ByteSource& source, uint64_t offset, const Entry& entry) {
  const uint64_t room = std::min<uint64_t>(entry.boundary - offset, kDescriptor64Bytes);
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, offset, room));
  for (const DescriptorForm& form : kForms) {
    if (Matches(source, bytes, offset, form, entry)) return form.bytes();
  }
  return Fail(Place{source.name(), offset}, ErrorKind::kCorrupt,
              "data descriptor of " + Describe(entry) + " is missing or another, expected CRC-32 " + Hex(entry.crc, 8) +
                  " and " + std::to_string(entry.bytes) + " bytes as in the central directory");
}

void CheckAgrees(ByteCursor& in, uint64_t local, uint64_t central, std::string_view what, const Entry& entry) {
  // 0 where the descriptor has it, all ones where a zip64 field does.
  if (local == 0 || local == kSentinel32 || local == central) return;
  in.Reject(ErrorKind::kCorrupt, std::string(what) + " in the local header of " + Describe(entry) + " is " +
                                     Hex(local, 8) + ", expected " + Hex(central, 8) + " as in the central directory");
}

// The flags of a local header whose rest FindPayload has checked. Unlike there, what stands in the header counts also
// where a descriptor follows.
Result<uint16_t> CheckLocalHeader(const ByteSource& source, const Entry& entry) {
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(source, entry.header_offset, kLocalFixedBytes));
  ByteCursor in(source.name(), bytes, entry.header_offset);
  in.Skip(4 + 2, "signature and version needed");
  const uint16_t flags = in.U16("flags");
  in.Skip(2 + 2 + 2, "method, time and date");
  CheckAgrees(in, in.U32("CRC-32"), entry.crc, "CRC-32", entry);
  CheckAgrees(in, in.U32("compressed size"), entry.compressed_bytes, "compressed size", entry);
  CheckAgrees(in, in.U32("uncompressed size"), entry.bytes, "uncompressed size", entry);
  return in.Finish(flags);
}

}  // namespace

Result<RecordSpan> FindSpan(const ByteSource& source, const Entry& entry) {
  DCPCTL_ASSIGN(const uint64_t payload, FindPayload(source, entry));
  DCPCTL_ASSIGN(const uint16_t flags, CheckLocalHeader(source, entry));
  RecordSpan span{.payload = payload, .end = payload + entry.compressed_bytes};
  if ((flags & kFlagDescriptor) != 0) {
    DCPCTL_ASSIGN(const uint64_t bytes, DescriptorBytes(source, span.end, entry));
    span.end += bytes;
  }
  return span;
}

}  // namespace dcpctl::zip
