#include "zip/layout.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "base/crc32.h"
#include "base/quote.h"
#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::zip {
namespace {

// Local and central extra fields must fit their 16-bit length: padding, its header and the zip64 field.
constexpr uint64_t kMaxAlignment = uint64_t{1} << 15;
constexpr uint64_t kMaxNameBytes = 0xffff;

// A record and where it is put.
struct Record {
  std::string_view name;
  uint64_t header_offset = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;
};

// miniz decides by size and header offset, for the local header, the descriptor and the directory alike.
bool HasLargeSize(const Record& record) { return record.bytes >= kSentinel32; }
bool HasLargeOffset(const Record& record) { return record.header_offset >= kSentinel32; }
bool IsZip64(const Record& record) { return HasLargeSize(record) || HasLargeOffset(record); }

uint32_t OrSentinel32(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, kSentinel32)); }
uint16_t OrSentinel16(uint64_t value) { return static_cast<uint16_t>(std::min<uint64_t>(value, kSentinel16)); }
uint16_t Flags(const Record& record) {
  return static_cast<uint16_t>(kFlagUtf8 | (record.bytes == 0 ? 0 : kFlagDescriptor));
}

std::string Zip64Extra(const Record& record) {
  if (!IsZip64(record)) return {};
  ByteWriter values;
  if (HasLargeSize(record)) values.U64(record.bytes).U64(record.bytes);
  if (HasLargeOffset(record)) values.U64(record.header_offset);
  ByteWriter extra;
  extra.U16(kZip64ExtraId).U16(static_cast<uint16_t>(values.size())).Text(values.bytes());
  return std::move(extra).Take();
}

// Sizes and CRC are left to the descriptor.
std::string LocalHeader(const Record& record, uint64_t alignment) {
  const std::string zip64 = Zip64Extra(record);
  const uint64_t unpadded =
      record.header_offset + kLocalFixedBytes + record.name.size() + zip64.size() + kExtraHeaderBytes;
  const uint64_t padding = AlignUp(unpadded, alignment) - unpadded;
  ByteWriter out;
  out.U32(kLocalSignature).U16(0).U16(Flags(record)).U16(kStored);
  out.U16(0).U16(0).U32(0).U32(0).U32(0);  // time, date, CRC, sizes
  out.U16(static_cast<uint16_t>(record.name.size()));
  out.U16(static_cast<uint16_t>(zip64.size() + kExtraHeaderBytes + padding));
  out.Text(record.name).Text(zip64);
  out.U16(kPaddingExtraId).U16(static_cast<uint16_t>(padding)).Fill(kPaddingByte, padding);
  return std::move(out).Take();
}

std::string Descriptor(const Record& record) {
  ByteWriter out;
  out.U32(kDescriptorSignature).U32(record.crc);
  if (IsZip64(record)) {
    out.U64(record.bytes).U64(record.bytes);
  } else {
    out.U32(static_cast<uint32_t>(record.bytes)).U32(static_cast<uint32_t>(record.bytes));
  }
  return std::move(out).Take();
}

std::string CentralEntry(const Record& record) {
  const std::string zip64 = Zip64Extra(record);
  ByteWriter out;
  out.U32(kCentralSignature).U16(0).U16(0).U16(Flags(record)).U16(kStored);
  out.U16(0).U16(0).U32(record.crc);  // time, date
  out.U32(OrSentinel32(record.bytes)).U32(OrSentinel32(record.bytes));
  out.U16(static_cast<uint16_t>(record.name.size())).U16(static_cast<uint16_t>(zip64.size())).U16(0);
  out.U16(0).U16(0).U32(0).U32(OrSentinel32(record.header_offset));  // disk, attributes
  out.Text(record.name).Text(zip64);
  return std::move(out).Take();
}

std::string EndRecords(uint64_t count, uint64_t directory_offset, uint64_t directory_bytes) {
  ByteWriter out;
  out.U32(kEnd64Signature).U64(kEnd64Bytes - kEnd64UncountedBytes).U16(kMinizMadeBy).U16(kMinizNeeded);
  out.U32(0).U32(0).U64(count).U64(count).U64(directory_bytes).U64(directory_offset);
  out.U32(kLocatorSignature).U32(0).U64(directory_offset + directory_bytes).U32(1);
  out.U32(kEndSignature).U16(0).U16(0).U16(OrSentinel16(count)).U16(OrSentinel16(count));
  out.U32(OrSentinel32(directory_bytes)).U32(OrSentinel32(directory_offset)).U16(0);
  return std::move(out).Take();
}

Result<void> CheckExpressible(const std::string& name, uint64_t alignment) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return Fail(ErrorKind::kUsage, "name of zip record " + Quote(name) + " has " + std::to_string(name.size()) +
                                       " bytes, expected 1 to " + std::to_string(kMaxNameBytes));
  }
  if (alignment == 0 || alignment > kMaxAlignment) {
    return Fail(ErrorKind::kUsage, "alignment of zip record " + Quote(name) + " is " + std::to_string(alignment) +
                                       ", expected 1 to " + std::to_string(kMaxAlignment));
  }
  return {};
}

tl::unexpected<Error> TooLarge(const std::string& name) {
  return Fail(ErrorKind::kLimit,
              "zip archive is too large with record " + Quote(name) + ", expected less than 2^62 bytes");
}

}  // namespace

Result<void> LayoutBuilder::Add(const NewRecord& record) {
  DCPCTL_TRY(CheckExpressible(record.name, record.alignment));
  Record placed{.name = record.name, .header_offset = layout_.total_bytes};
  std::optional<SlotId> waits_for;
  const auto* const slot = std::get_if<Slot>(&record.content);
  const auto* const text = std::get_if<std::string>(&record.content);
  placed.bytes = slot != nullptr ? slot->bytes : text->size();

  Append(LocalHeader(placed, record.alignment));
  if (text != nullptr) {
    placed.crc = Crc32(std::as_bytes(std::span(*text)));
    Append(*text);
  } else if (placed.bytes != 0) {
    if (!CheckedAdd(layout_.total_bytes, placed.bytes)) return TooLarge(record.name);
    waits_for = slot->id;
    layout_.slots.push_back({.id = slot->id, .offset = layout_.total_bytes, .bytes = placed.bytes});
    layout_.total_bytes += placed.bytes;
  }
  // Room for what is still to come, whatever its size.
  if (layout_.total_bytes > uint64_t{1} << 62) return TooLarge(record.name);
  if (placed.bytes != 0) Append(Descriptor(placed), waits_for, kDescriptorCrcPos);
  names_ += record.name;
  records_.push_back({.header_offset = placed.header_offset,
                      .bytes = placed.bytes,
                      .name_end = names_.size(),
                      .slot = waits_for,
                      .crc = placed.crc});
  return {};
}

ArchiveLayout LayoutBuilder::Finish() && {
  const uint64_t directory_offset = layout_.total_bytes;
  uint64_t name_begin = 0;
  for (const Placed& placed : records_) {
    const Record record{.name = std::string_view(names_).substr(name_begin, placed.name_end - name_begin),
                        .header_offset = placed.header_offset,
                        .bytes = placed.bytes,
                        .crc = placed.crc};
    Append(CentralEntry(record), placed.slot, kCentralCrcPos);
    name_begin = placed.name_end;
  }
  Append(EndRecords(records_.size(), directory_offset, layout_.total_bytes - directory_offset));
  return std::move(layout_);
}

// Appends to the literal that ends here, or begins one after a slot.
void LayoutBuilder::Append(std::string_view bytes, std::optional<SlotId> crc_of, uint64_t crc_pos) {
  std::vector<Literal>& literals = layout_.literals;
  if (literals.empty() || literals.back().offset + literals.back().bytes.size() != layout_.total_bytes) {
    literals.push_back({.offset = layout_.total_bytes, .bytes = {}, .holes = {}});
  }
  Literal& literal = literals.back();
  if (crc_of) literal.holes.push_back({.pos = literal.bytes.size() + crc_pos, .slot = *crc_of});
  literal.bytes += bytes;
  layout_.total_bytes += bytes.size();
}

}  // namespace dcpctl::zip
