#include "plugin/device.h"

#include <charconv>
#include <optional>
#include <string>

#include "base/quote.h"
#include "base/result.h"
#include "plugin/loader.h"

namespace dcpctl::plugin {
namespace {

constexpr std::string_view kCuda = "cuda";
constexpr std::string_view kProcessor = "cpu";
constexpr std::string_view kAdvice = "leave out --device, or use --device cpu";

Result<void> Check(int failed, const char* what, const ErrorTextV1& error) {
  if (failed == 0) return {};
  return Fail(ErrorKind::kIo, std::string(what) + " failed: " + error.text);
}

MemoryKind KindOf(const CopyDeviceV1& table, void* device) {
  return table.memory_kind(device) == kOrdinaryMemory ? MemoryKind::kOrdinary : MemoryKind::kCuda;
}

// N of "cuda:N"; nothing for "cuda".
Result<std::optional<uint64_t>> OrdinalOf(std::string_view name) {
  std::string_view rest = name.substr(0, kCuda.size()) == kCuda ? name.substr(kCuda.size()) : "?";
  if (rest.empty()) return std::nullopt;
  uint64_t ordinal = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), ordinal);
  if (rest[0] != ':' || rest.size() < 2 || error != std::errc() || end != rest.data() + rest.size())
    return Fail(ErrorKind::kUsage, "device is " + Quote(name) + ", expected cpu, cuda or cuda:N");
  return ordinal;
}

Error Unusable(std::string_view name, const std::string& why) {
  return Error(ErrorKind::kUnsupported, "device " + Quote(name) + " cannot be used: " + why)
      .Advise(std::string(kAdvice));
}

}  // namespace

Result<void> DeviceLane::Upload(uint64_t to, std::span<const std::byte> from) {
  ErrorTextV1 error;
  return Check(table_.upload(lane_, to, from.data(), from.size(), &error), "copy to the device", error);
}

Result<void> DeviceLane::Copy(const BoxCopyV1& box) {
  ErrorTextV1 error;
  return Check(table_.copy(lane_, &box, &error), "copy on the device", error);
}

Result<void> DeviceLane::Download(std::span<std::byte> to, uint64_t from) {
  ErrorTextV1 error;
  return Check(table_.download(lane_, to.data(), from, to.size(), &error), "copy from the device", error);
}

Result<void> DeviceLane::Wait() {
  ErrorTextV1 error;
  return Check(table_.wait(lane_, &error), "copy on the device", error);
}

MemoryKind DeviceLane::kind() const { return KindOf(table_, device_.get()); }

Result<void> DeviceLane::MakeCurrent() const {
  ErrorTextV1 error;
  return Check(table_.make_current(lane_, &error), "use of the device's memory", error);
}

MemoryKind Device::memory_kind() const { return KindOf(table_, device_.get()); }

Result<std::unique_ptr<DeviceLane>> Device::OpenLane(uint64_t bytes) {
  ErrorTextV1 error;
  void* lane = nullptr;
  DCPCTL_TRY(Check(table_.open_lane(device_.get(), bytes, &lane, &error),
                   ("taking " + std::to_string(bytes) + " bytes of the device's memory").c_str(), error));
  return std::make_unique<DeviceLane>(table_, device_, lane);
}

Result<std::unique_ptr<Device>> OpenDevice(const std::filesystem::path& folder, std::string_view name,
                                           uint64_t local_rank) {
  if (name == kProcessor) return nullptr;
  DCPCTL_ASSIGN(const std::optional<uint64_t> asked, OrdinalOf(name));
  DCPCTL_ASSIGN(
      const auto* table,
      OpenTable<CopyDeviceV1>(PluginFolder(folder), {.kind = kCopyDeviceKind,
                                                     .file = "dcpctl_cuda",
                                                     .purpose = "--device cuda",
                                                     .advice = "build it with the CUDA Toolkit, or use --device cpu"}));
  ErrorTextV1 error;
  uint64_t count = 0;
  if (table->count(&count, &error) != 0) return Fail(Unusable(name, error.text));
  if (count == 0) return Fail(Unusable(name, "there is none"));
  const uint64_t ordinal = asked.value_or(local_rank % count);
  if (ordinal >= count) {
    return Fail(Unusable(name, count == 1 ? std::string("number 0 is the only one")
                                          : "there are " + std::to_string(count) + ", numbered from 0"));
  }
  void* device = nullptr;
  if (table->open(ordinal, &device, &error) != 0) return Fail(Unusable(name, error.text));
  return std::make_unique<Device>(*table, device);
}

}  // namespace dcpctl::plugin
