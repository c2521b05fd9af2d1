// Lays out a zip archive byte for byte as torch.save writes it (miniz with PyTorch's alignment padding): a
// pure function from records to literal bytes and payload slots. CRC-32s of payloads are unknown at that
// time, so the literals have holes for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dcpctl/error.h"

namespace dcpctl::zip {

// The caller's number for data that comes later.
using SlotId = uint64_t;

struct Slot {
  SlotId id = 0;
  uint64_t bytes = 0;
};

struct NewRecord {
  std::string name;  // with the archive's prefix
  std::variant<std::string, Slot> content;
  uint64_t alignment = 64;  // of the data, counted from the start of the archive; 32768 at most
};

// Four bytes of a literal for the CRC-32 of a slot's payload, little-endian.
struct CrcHole {
  uint64_t pos = 0;  // in the literal
  SlotId slot = 0;
};

struct Literal {
  uint64_t offset = 0;  // in the archive
  std::string bytes;    // 0 where holes are
  std::vector<CrcHole> holes;
};

struct PlacedSlot {
  SlotId id = 0;
  uint64_t offset = 0;  // in the archive
  uint64_t bytes = 0;
};

// Literals and slots are sorted by offset and cover [0, total_bytes) exactly; no literal touches another.
// Slots without bytes are not among them and have no holes.
struct ArchiveLayout {
  uint64_t total_bytes = 0;
  std::vector<Literal> literals;
  std::vector<PlacedSlot> slots;
};

// Records one after the other: of a large archive there may be millions.
class LayoutBuilder {
 public:
  // Errors: kUsage for a name or alignment that zip can't express; kLimit when offsets don't fit 64 bits. Nothing can
  // be added after one.
  Result<void> Add(const NewRecord& record);
  ArchiveLayout Finish() &&;

 private:
  // What the central directory needs to know.
  struct Placed {
    uint64_t header_offset = 0;
    uint64_t bytes = 0;
    uint64_t name_end = 0;                      // in names_; it begins where that of the record before ends
    std::optional<SlotId> slot = std::nullopt;  // whose CRC is not known yet
    uint32_t crc = 0;
  };

  void Append(std::string_view bytes, std::optional<SlotId> crc_of = std::nullopt, uint64_t crc_pos = 0);

  ArchiveLayout layout_;
  std::vector<Placed> records_;
  std::string names_;
};

}  // namespace dcpctl::zip
