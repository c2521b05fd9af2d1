// A copy device, found and opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/device_memory.h"
#include "dcpctl/error.h"
#include "plugin/copy_device.h"

namespace dcpctl::plugin {

// Commands for one device, in their order. For one thread, but for what DeviceMemory has. The device stays open as long
// as this is there.
class DeviceLane final : public DeviceMemory {
 public:
  DeviceLane(const CopyDeviceV1& table, std::shared_ptr<void> device, void* lane)
      : table_(table), device_(std::move(device)), lane_(lane) {}
  ~DeviceLane() override { table_.close_lane(lane_); }

  // As CopyDeviceV1 says. kIo with what the device's library says.
  Result<void> Upload(uint64_t to, std::span<const std::byte> from);
  Result<void> Copy(const BoxCopyV1& box);
  Result<void> Download(std::span<std::byte> to, uint64_t from);
  Result<void> Wait();

  [[nodiscard]] MemoryKind kind() const override;
  [[nodiscard]] std::byte* address() const override { return static_cast<std::byte*>(table_.address(lane_)); }
  Result<void> MakeCurrent() const override;

 private:
  const CopyDeviceV1& table_;
  const std::shared_ptr<void> device_;
  void* const lane_;
};

// Thread-safe.
class Device {
 public:
  Device(const CopyDeviceV1& table, void* device) : table_(table), device_(device, table.close) {}

  // kIo when the device has not so much memory left.
  Result<std::unique_ptr<DeviceLane>> OpenLane(uint64_t bytes);
  // Memory of the program that lanes will copy from or to, until it is released; that comes before it is freed.
  void Pin(std::span<std::byte> memory) { table_.pin(device_.get(), memory.data(), memory.size()); }
  void Release(std::span<std::byte> memory) { table_.unpin(device_.get(), memory.data()); }
  // That of all lanes.
  [[nodiscard]] MemoryKind memory_kind() const;

 private:
  const CopyDeviceV1& table_;
  const std::shared_ptr<void> device_;
};

// Opens what `--device` names: "cpu" is none, and null; "cuda" is the device that this process has to itself when those
// of a node share them out in turn (`local_rank` is its number there), "cuda:N" number N. `folder` as PluginFolder
// takes it. kUnsupported when there is no plug-in, no such device, or it cannot be used; kUsage for a name that means
// nothing.
Result<std::unique_ptr<Device>> OpenDevice(const std::filesystem::path& folder, std::string_view name,
                                           uint64_t local_rank);

}  // namespace dcpctl::plugin
