#include "zip/read.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/byte_cursor.h"
#include "base/checked.h"
#include "base/crc32.h"
#include "base/inflate.h"
#include "base/quote.h"
#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

// A local size may be left to the descriptor (bit 3), to a zip64 field, or be 0: PyTorch's are always.
bool SizeAgrees(uint32_t local, uint64_t central) { return local == central || local == 0 || local == kSentinel32; }

void CheckAgrees(ByteCursor& in, uint64_t found, uint64_t expected, std::string_view what) {
  if (found == expected) return;
  in.Reject(ErrorKind::kCorrupt, std::string(what) + " in the local header is " + std::to_string(found) +
                                     ", expected " + std::to_string(expected) + " as in the central directory");
}

// The local header up to and including the name; returns the length of the extra field.
Result<uint64_t> ReadLocalHeader(const ByteSource& source, std::span<const std::byte> bytes, const Entry& entry) {
  ByteCursor in(source.name(), bytes, entry.header_offset);
  in.ExpectU32(kLocalSignature, "zip local header signature");
  in.Skip(2, "version needed");
  const uint16_t flags = in.U16("flags");
  CheckAgrees(in, flags & kFlagEncrypted, 0, "encryption flag");
  const uint16_t method = in.U16("compression method");
  CheckAgrees(in, method, entry.method, "compression method");
  in.Skip(2 + 2 + 4, "time, date and CRC-32");
  const bool sizes_follow = (flags & kFlagDescriptor) != 0;
  const uint32_t compressed = in.U32("compressed size");
  if (!sizes_follow && !SizeAgrees(compressed, entry.compressed_bytes)) {
    CheckAgrees(in, compressed, entry.compressed_bytes, "compressed size");
  }
  const uint32_t plain = in.U32("uncompressed size");
  if (!sizes_follow && !SizeAgrees(plain, entry.bytes)) CheckAgrees(in, plain, entry.bytes, "uncompressed size");
  const uint16_t name_bytes = in.U16("name length");
  CheckAgrees(in, name_bytes, entry.name.size(), "name length");
  const uint16_t extra_bytes = in.U16("extra field length");
  const std::string_view name = in.Text(entry.name.size(), "name");
  if (!in.failed() && name != entry.name) {
    in.Reject(ErrorKind::kCorrupt, "name in the local header is " + Quote(name) + ", expected " + Quote(entry.name) +
                                       " as in the central directory");
  }
  return in.Finish(uint64_t{extra_bytes});
}

Result<std::vector<std::byte>> ReadStored(const ByteSource& source, const Entry& entry, uint64_t payload) {
  if (entry.compressed_bytes != entry.bytes) {
    return Fail(Place{source.name(), entry.header_offset}, ErrorKind::kCorrupt,
                Describe(entry) + " is stored in " + std::to_string(entry.compressed_bytes) + " bytes, expected its " +
                    std::to_string(entry.bytes));
  }
  return ReadRange(source, payload, entry.bytes);
}

Result<std::vector<std::byte>> ReadDeflated(const ByteSource& source, const Entry& entry, uint64_t payload) {
  std::vector<std::byte> bytes;  // grows with what comes out, not with what the directory claims
  const auto append = [&](std::span<const std::byte> piece) -> Result<void> {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return {};
  };
  auto decoded = DecodeDeflate(source, payload, entry.compressed_bytes, entry.bytes, append);
  if (!decoded) return Fail(std::move(decoded).error().In(Describe(entry)));
  if (*decoded == entry.bytes) return bytes;
  return Fail(
      Place{source.name(), payload}, ErrorKind::kCorrupt,
      Describe(entry) + " has " + std::to_string(*decoded) + " decoded bytes, expected " + std::to_string(entry.bytes));
}

}  // namespace

Result<uint64_t> FindPayload(const ByteSource& source, const Entry& entry) {
  DCPCTL_ASSIGN(const std::vector<std::byte> header,
                ReadRange(source, entry.header_offset, kLocalFixedBytes + entry.name.size()));
  auto extra_bytes = ReadLocalHeader(source, header, entry);
  if (!extra_bytes) return Fail(std::move(extra_bytes).error().In(Describe(entry)));
  const uint64_t payload = entry.header_offset + header.size() + *extra_bytes;
  if (payload <= entry.boundary && entry.compressed_bytes <= entry.boundary - payload) return payload;
  return Fail(Place{source.name(), payload}, ErrorKind::kCorrupt,
              "data of " + Describe(entry) + " has " + std::to_string(entry.compressed_bytes) +
                  " bytes, expected to end before what follows at " + Hex(entry.boundary));
}

Result<std::vector<std::byte>> ReadRecord(const ByteSource& source, const Entry& entry, uint64_t max_bytes) {
  const Place place{source.name(), entry.header_offset};
  if (entry.method != kStored && entry.method != kDeflated) {
    return Fail(
        place, ErrorKind::kCorrupt,
        Describe(entry) + " has compression method " + std::to_string(entry.method) + ", expected stored or deflated");
  }
  if (entry.bytes > max_bytes) {
    return Fail(place, ErrorKind::kLimit,
                Describe(entry) + " has " + std::to_string(entry.bytes) + " bytes, expected at most " +
                    std::to_string(max_bytes));
  }
  DCPCTL_ASSIGN(const uint64_t payload, FindPayload(source, entry));
  DCPCTL_ASSIGN(std::vector<std::byte> bytes,
                entry.method == kStored ? ReadStored(source, entry, payload) : ReadDeflated(source, entry, payload));
  const uint32_t crc = Crc32(bytes);
  if (entry.crc == 0 || crc == entry.crc) return bytes;
  return Fail(Place{source.name(), payload}, ErrorKind::kCorrupt,
              Describe(entry) + " has CRC-32 " + Hex(crc, 8) + ", expected " + Hex(entry.crc, 8) +
                  " as in the central directory");
}

}  // namespace dcpctl::zip
