#include "engine/device_tiles.h"

#include <utility>
#include <vector>

#include "base/result.h"

namespace dcpctl::engine {

Result<std::unique_ptr<DeviceTiles>> DeviceTiles::Open(plugin::Device& device, std::span<std::byte> scratch,
                                                       uint64_t tile_bytes) {
  DCPCTL_ASSIGN(auto lane, device.OpenLane(scratch.size() + tile_bytes));
  return std::make_unique<DeviceTiles>(std::move(lane), scratch);
}

Result<void> DeviceTiles::Upload(std::span<const std::byte> bytes) {
  busy_ = true;
  return lane_->Upload(PlaceOf(bytes), bytes);
}

Result<void> DeviceTiles::Spread(const CopyLoop& loop, std::span<const std::byte> bytes, uint64_t item_bytes) {
  std::vector<plugin::CopyLevelV1> levels;
  for (const CopyLoop::Level& level : loop.levels) {
    levels.push_back(
        {.count = level.count, .from_step = level.from_step * item_bytes, .to_step = level.to_step * item_bytes});
  }
  uint64_t run = item_bytes;
  if (!levels.empty() && levels.back().from_step == item_bytes && levels.back().to_step == item_bytes) {
    run *= levels.back().count;
    levels.pop_back();
  }
  busy_ = true;
  return lane_->Copy({.from = PlaceOf(bytes),
                      .to = scratch_.size() + loop.to * item_bytes,
                      .run_bytes = run,
                      .levels = levels.data(),
                      .level_count = levels.size()});
}

Result<void> DeviceTiles::Collect(std::span<std::byte> out) {
  DCPCTL_TRY(state_);
  DCPCTL_TRY(lane_->Download(out, scratch_.size()));
  busy_ = false;
  return lane_->Wait();
}

void DeviceTiles::Idle() {
  if (!std::exchange(busy_, false)) return;
  if (auto done = lane_->Wait(); !done && state_) state_ = std::move(done);
}

}  // namespace dcpctl::engine
