#include "dcp/layout.h"

#include <utility>

#include "base/checked.h"
#include "base/result.h"
#include "torch/layout.h"

namespace dcpctl::dcp {
namespace {

class DataFileBuilder {
 public:
  Result<void> Add(const NewItem& item) {
    std::vector<torch::NewStorage> storages;
    for (size_t i = 0; i < item.storage_bytes.size(); ++i)
      storages.push_back({.key = std::to_string(i), .bytes = item.storage_bytes[i]});
    DCPCTL_ASSIGN(zip::ArchiveLayout archive, torch::MakeTorchLayout(item.pickle, storages));
    const uint64_t end = layout_.bytes.total_bytes;
    const uint64_t start = StartOf(item, archive);
    if (start > end) layout_.gaps.push_back({.offset = end, .bytes = start - end});
    for (zip::Literal& literal : archive.literals) {
      literal.offset += start;
      for (zip::CrcHole& hole : literal.holes) hole.slot += first_slot_;
      AddLiteral(std::move(literal));
    }
    for (const zip::PlacedSlot& slot : archive.slots)
      layout_.bytes.slots.push_back({.id = slot.id + first_slot_, .offset = slot.offset + start, .bytes = slot.bytes});
    layout_.items.push_back({.offset = start, .length = archive.total_bytes});
    layout_.bytes.total_bytes = start + archive.total_bytes;
    first_slot_ += storages.size();
    return {};
  }

  DataFileLayout Take() && { return std::move(layout_); }

 private:
  // Within the archive everything lies where torch.save puts it; the whole archive is moved.
  uint64_t StartOf(const NewItem& item, const zip::ArchiveLayout& archive) const {
    const uint64_t end = layout_.bytes.total_bytes;
    if (!item.is_tensor || archive.slots.empty()) return end;
    const uint64_t payload = archive.slots[0].offset;
    return AlignUp(end + payload, kPayloadAlignment) - payload;
  }

  // Joins the one before when nothing lies between them.
  void AddLiteral(zip::Literal literal) {
    if (literal.bytes.empty()) return;
    auto& literals = layout_.bytes.literals;
    if (literals.empty() || literals.back().offset + literals.back().bytes.size() != literal.offset) {
      literals.push_back(std::move(literal));
      return;
    }
    zip::Literal& last = literals.back();
    for (zip::CrcHole& hole : literal.holes)
      last.holes.push_back({.pos = hole.pos + last.bytes.size(), .slot = hole.slot});
    last.bytes += literal.bytes;
  }

  DataFileLayout layout_;
  uint64_t first_slot_ = 0;
};

}  // namespace

Result<DataFileLayout> MakeDataFileLayout(const std::vector<NewItem>& items) {
  DataFileBuilder builder;
  for (const NewItem& item : items) DCPCTL_TRY(builder.Add(item));
  return std::move(builder).Take();
}

}  // namespace dcpctl::dcp
