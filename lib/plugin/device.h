// A copy device, found and opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "dcpctl/error.h"
#include "plugin/copy_device.h"

namespace dcpctl::plugin {

// Commands for one device, in their order. For one thread.
class DeviceLane {
 public:
  DeviceLane(const CopyDeviceV1& table, void* lane) : table_(table), lane_(lane) {}
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;
  ~DeviceLane() { table_.close_lane(lane_); }

  // As CopyDeviceV1 says. kIo with what the device's library says.
  Result<void> Upload(uint64_t to, std::span<const std::byte> from);
  Result<void> Copy(const BoxCopyV1& box);
  Result<void> Download(std::span<std::byte> to, uint64_t from);
  Result<void> Wait();

 private:
  const CopyDeviceV1& table_;
  void* const lane_;
};

// Thread-safe. Must outlive its lanes.
class Device {
 public:
  Device(const CopyDeviceV1& table, void* device) : table_(table), device_(device) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { table_.close(device_); }

  // kIo when the device has not so much memory left.
  Result<std::unique_ptr<DeviceLane>> OpenLane(uint64_t bytes);
  // Memory of the program that lanes will copy from or to, until it is released; that comes before it is freed.
  void Pin(std::span<std::byte> memory) { table_.pin(device_, memory.data(), memory.size()); }
  void Release(std::span<std::byte> memory) { table_.unpin(device_, memory.data()); }

 private:
  const CopyDeviceV1& table_;
  void* const device_;
};

// Opens what `--device` names: "cpu" is none, and null; "cuda" is the device that this process has to itself when those
// of a node share them out in turn (`local_rank` is its number there), "cuda:N" number N. `folder` as PluginFolder
// takes it. kUnsupported when there is no plug-in, no such device, or it cannot be used; kUsage for a name that means
// nothing.
Result<std::unique_ptr<Device>> OpenDevice(const std::filesystem::path& folder, std::string_view name,
                                           uint64_t local_rank);

}  // namespace dcpctl::plugin
