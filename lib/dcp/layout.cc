#include "dcp/layout.h"

#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "torch/layout.h"

namespace dcpctl::dcp {

Result<ItemLayout> MakeItemLayout(const NewItem& item) {
  std::vector<torch::NewStorage> storages;
  for (const uint64_t bytes : item.storage_bytes) storages.push_back({.bytes = bytes});
  DCPCTL_ASSIGN(zip::ArchiveLayout archive, torch::MakeTorchLayout(item.pickle, storages));
  return ItemLayout{.archive = std::move(archive), .is_tensor = item.is_tensor};
}

// Within the archive everything lies where torch.save puts it; the whole archive is moved.
uint64_t StartOf(const ItemLayout& item, uint64_t end) {
  if (!item.is_tensor || item.archive.slots.empty()) return end;
  const uint64_t payload = item.archive.slots[0].offset;
  return AlignUp(end + payload, kPayloadAlignment) - payload;
}

}  // namespace dcpctl::dcp
