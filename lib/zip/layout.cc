#include "zip/layout.h"

#include <algorithm>
#include <optional>
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

// A record as the central directory needs it.
struct Placed {
  std::string name;
  uint64_t header_offset = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;
  std::optional<SlotId> slot;  // whose CRC is not known yet
};

// miniz decides by size and header offset, for the local header, the descriptor and the directory alike.
bool HasLargeSize(const Placed& record) { return record.bytes >= kSentinel32; }
bool HasLargeOffset(const Placed& record) { return record.header_offset >= kSentinel32; }
bool IsZip64(const Placed& record) { return HasLargeSize(record) || HasLargeOffset(record); }

uint32_t OrSentinel32(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, kSentinel32)); }
uint16_t OrSentinel16(uint64_t value) { return static_cast<uint16_t>(std::min<uint64_t>(value, kSentinel16)); }
uint16_t Flags(const Placed& record) {
  return static_cast<uint16_t>(kFlagUtf8 | (record.bytes == 0 ? 0 : kFlagDescriptor));
}

std::string Zip64Extra(const Placed& record) {
  if (!IsZip64(record)) return {};
  ByteWriter values;
  if (HasLargeSize(record)) values.U64(record.bytes).U64(record.bytes);
  if (HasLargeOffset(record)) values.U64(record.header_offset);
  ByteWriter extra;
  extra.U16(kZip64ExtraId).U16(static_cast<uint16_t>(values.size())).Text(values.bytes());
  return std::move(extra).Take();
}

// Sizes and CRC are left to the descriptor.
std::string LocalHeader(const Placed& record, uint64_t alignment) {
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

std::string Descriptor(const Placed& record) {
  ByteWriter out;
  out.U32(kDescriptorSignature).U32(record.crc);
  if (IsZip64(record)) {
    out.U64(record.bytes).U64(record.bytes);
  } else {
    out.U32(static_cast<uint32_t>(record.bytes)).U32(static_cast<uint32_t>(record.bytes));
  }
  return std::move(out).Take();
}

std::string CentralEntry(const Placed& record) {
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

class LayoutBuilder {
 public:
  Result<void> Add(NewRecord record) {
    Placed placed{.name = std::move(record.name), .header_offset = layout_.total_bytes, .slot = std::nullopt};
    DCPCTL_TRY(CheckExpressible(placed.name, record.alignment));
    const auto* slot = std::get_if<Slot>(&record.content);
    placed.bytes = slot ? slot->bytes : std::get<std::string>(record.content).size();
    if (slot && slot->bytes != 0) placed.slot = slot->id;

    Append(LocalHeader(placed, record.alignment));
    if (placed.slot) {
      if (!CheckedAdd(layout_.total_bytes, placed.bytes)) return TooLarge(placed.name);
      layout_.slots.push_back({.id = *placed.slot, .offset = layout_.total_bytes, .bytes = placed.bytes});
      layout_.total_bytes += placed.bytes;
    } else if (!slot) {
      const auto& text = std::get<std::string>(record.content);
      placed.crc = Crc32(std::as_bytes(std::span(text)));
      Append(text);
    }
    // Room for what is still to come, whatever its size.
    if (layout_.total_bytes > uint64_t{1} << 62) return TooLarge(placed.name);
    if (placed.bytes != 0) Append(Descriptor(placed), placed.slot, kDescriptorCrcPos);
    records_.push_back(std::move(placed));
    return {};
  }

  ArchiveLayout Finish() && {
    const uint64_t directory_offset = layout_.total_bytes;
    for (const Placed& record : records_) Append(CentralEntry(record), record.slot, kCentralCrcPos);
    Append(EndRecords(records_.size(), directory_offset, layout_.total_bytes - directory_offset));
    return std::move(layout_);
  }

 private:
  static Result<void> CheckExpressible(const std::string& name, uint64_t alignment) {
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

  static tl::unexpected<Error> TooLarge(const std::string& name) {
    return Fail(ErrorKind::kLimit,
                "zip archive is too large with record " + Quote(name) + ", expected less than 2^62 bytes");
  }

  // Appends to the literal that ends here, or begins one after a slot.
  void Append(std::string_view bytes, std::optional<SlotId> crc_of = std::nullopt, uint64_t crc_pos = 0) {
    std::vector<Literal>& literals = layout_.literals;
    if (literals.empty() || literals.back().offset + literals.back().bytes.size() != layout_.total_bytes) {
      literals.push_back({.offset = layout_.total_bytes, .bytes = {}, .holes = {}});
    }
    Literal& literal = literals.back();
    if (crc_of) literal.holes.push_back({.pos = literal.bytes.size() + crc_pos, .slot = *crc_of});
    literal.bytes += bytes;
    layout_.total_bytes += bytes.size();
  }

  ArchiveLayout layout_;
  std::vector<Placed> records_;
};

}  // namespace

Result<ArchiveLayout> MakeArchiveLayout(std::vector<NewRecord> records) {
  LayoutBuilder builder;
  for (NewRecord& record : records) DCPCTL_TRY(builder.Add(std::move(record)));
  return std::move(builder).Finish();
}

}  // namespace dcpctl::zip
