// A copy device without hardware: commands are remembered and carried out when they are waited for, as late as a real
// one may do. Memory that is changed before that, and places outside the lane, show. DCPCTL_FAKE_DEVICES says how many
// devices there are (1), DCPCTL_FAKE_DEVICE_BYTES how much memory a lane can have; DCPCTL_FAKE_DEVICE_APART set to 1,
// that the memory is not to be touched by libraries that do not know it; DCPCTL_FAKE_DEVICE_LOG names a file that each
// lane adds a line to when it is closed: how many bytes were uploaded.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "plugin/copy_device.h"

namespace {

using dcpctl::plugin::BoxCopyV1;
using dcpctl::plugin::CopyDeviceV1;
using dcpctl::plugin::ErrorTextV1;

struct Lane {
  std::vector<std::byte> memory;
  uint64_t uploaded = 0;
  std::vector<std::function<void()>> commands = {};
};

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

int Fail(ErrorTextV1* error, const char* text) {
  std::snprintf(error->text, sizeof(error->text), "%s", text);
  return 1;
}

int Count(uint64_t* devices, ErrorTextV1* error) {
  *devices = Setting("DCPCTL_FAKE_DEVICES", 1);
  return *devices == 99 ? Fail(error, "no driver") : 0;
}

int Open(uint64_t ordinal, void** device, ErrorTextV1* /*error*/) {
  *device = new uint64_t(ordinal);
  return 0;
}

void Close(void* device) { delete static_cast<uint64_t*>(device); }

void Pin(void* /*device*/, void* /*memory*/, uint64_t /*bytes*/) {}
void Unpin(void* /*device*/, void* /*memory*/) {}

int OpenLane(void* /*device*/, uint64_t bytes, void** lane, ErrorTextV1* error) {
  if (bytes > Setting("DCPCTL_FAKE_DEVICE_BYTES", UINT64_MAX)) return Fail(error, "out of memory");
  *lane = new Lane{.memory = std::vector<std::byte>(bytes, std::byte{0xdd})};
  return 0;
}

void CloseLane(void* opaque) {
  const auto* const lane = static_cast<Lane*>(opaque);
  if (const char* const log = std::getenv("DCPCTL_FAKE_DEVICE_LOG")) {
    std::FILE* const file = std::fopen(log, "a");
    std::fprintf(file, "%ju\n", static_cast<uintmax_t>(lane->uploaded));
    std::fclose(file);
  }
  delete lane;
}

int Add(void* opaque, uint64_t place, uint64_t bytes, ErrorTextV1* error, std::function<void()> command) {
  auto& lane = *static_cast<Lane*>(opaque);
  if (bytes > lane.memory.size() || place > lane.memory.size() - bytes) return Fail(error, "outside the lane");
  lane.commands.push_back(std::move(command));
  return 0;
}

int Upload(void* opaque, uint64_t to, const void* from, uint64_t bytes, ErrorTextV1* error) {
  static_cast<Lane*>(opaque)->uploaded += bytes;
  std::byte* const target = static_cast<Lane*>(opaque)->memory.data() + to;
  return Add(opaque, to, bytes, error, [=] { std::memcpy(target, from, bytes); });
}

int Download(void* opaque, void* to, uint64_t from, uint64_t bytes, ErrorTextV1* error) {
  const std::byte* const source = static_cast<Lane*>(opaque)->memory.data() + from;
  return Add(opaque, from, bytes, error, [=] { std::memcpy(to, source, bytes); });
}

void CopyLevels(std::byte* memory, const BoxCopyV1& box, uint64_t level, uint64_t to, uint64_t from) {
  if (level == box.level_count) {
    std::memmove(memory + to, memory + from, box.run_bytes);
    return;
  }
  for (uint64_t i = 0; i < box.levels[level].count; ++i)
    CopyLevels(memory, box, level + 1, to + i * box.levels[level].to_step, from + i * box.levels[level].from_step);
}

int Copy(void* opaque, const BoxCopyV1* box, ErrorTextV1* error) {
  auto& lane = *static_cast<Lane*>(opaque);
  uint64_t from_end = box->from + box->run_bytes;
  uint64_t to_end = box->to + box->run_bytes;
  for (uint64_t i = 0; i < box->level_count; ++i) {
    from_end += (box->levels[i].count - 1) * box->levels[i].from_step;
    to_end += (box->levels[i].count - 1) * box->levels[i].to_step;
  }
  // The levels are the caller's, and gone when the command is carried out.
  std::vector<dcpctl::plugin::CopyLevelV1> levels(box->levels, box->levels + box->level_count);
  return Add(opaque, std::max(from_end, to_end), 0, error,
             [memory = lane.memory.data(), own = *box, levels = std::move(levels)]() mutable {
               own.levels = levels.data();
               CopyLevels(memory, own, 0, own.to, own.from);
             });
}

int Wait(void* opaque, ErrorTextV1* /*error*/) {
  auto& lane = *static_cast<Lane*>(opaque);
  for (const auto& command : lane.commands) command();
  lane.commands.clear();
  return 0;
}

int32_t MemoryKind(void* /*device*/) {
  return Setting("DCPCTL_FAKE_DEVICE_APART", 0) == 0 ? dcpctl::plugin::kOrdinaryMemory : dcpctl::plugin::kCudaMemory;
}

void* Address(void* lane) { return static_cast<Lane*>(lane)->memory.data(); }

int MakeCurrent(void* /*lane*/, ErrorTextV1* /*error*/) { return 0; }

constexpr CopyDeviceV1 kTable{.open = Open,
                              .close = Close,
                              .count = Count,
                              .pin = Pin,
                              .unpin = Unpin,
                              .open_lane = OpenLane,
                              .close_lane = CloseLane,
                              .upload = Upload,
                              .copy = Copy,
                              .download = Download,
                              .wait = Wait,
                              .memory_kind = MemoryKind,
                              .address = Address,
                              .make_current = MakeCurrent};

}  // namespace

DCPCTL_PLUGIN(dcpctl::plugin::kCopyDeviceKind, "Fake", &kTable);
