// Copies on a GPU, by the CUDA runtime. A lane is a stream and a block of device memory.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <new>

#include "plugin/copy_device.h"

namespace dcpctl::plugin {
namespace {

struct GpuDevice {
  int ordinal;
};

struct GpuLane {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
  std::byte* memory = nullptr;
};

int Check(cudaError_t status, ErrorTextV1* error) {
  if (status == cudaSuccess) return 0;
  std::snprintf(error->text, sizeof(error->text), "%s (%s)", cudaGetErrorString(status), cudaGetErrorName(status));
  return 1;
}

int Count(uint64_t* devices, ErrorTextV1* error) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  *devices = status == cudaSuccess && count > 0 ? static_cast<uint64_t>(count) : 0;
  return Check(status, error);
}

int Open(uint64_t ordinal, void** device, ErrorTextV1* error) {
  const int number = static_cast<int>(ordinal);
  if (Check(cudaSetDevice(number), error) != 0) return 1;
  // Makes the context now: a device that cannot be used says so before anything is written.
  if (Check(cudaFree(nullptr), error) != 0) return 1;
  *device = new (std::nothrow) GpuDevice{number};
  return *device == nullptr ? Check(cudaErrorMemoryAllocation, error) : 0;
}

void Close(void* device) { delete static_cast<GpuDevice*>(device); }

// What cannot be pinned is copied all the same.
void Pin(void* device, void* memory, uint64_t bytes) {
  cudaSetDevice(static_cast<GpuDevice*>(device)->ordinal);
  if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void Unpin(void* device, void* memory) {
  cudaSetDevice(static_cast<GpuDevice*>(device)->ordinal);
  if (cudaHostUnregister(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void CloseLane(void* opaque) {
  auto* const lane = static_cast<GpuLane*>(opaque);
  cudaSetDevice(lane->ordinal);
  if (lane->stream != nullptr) {
    cudaStreamSynchronize(lane->stream);
    cudaStreamDestroy(lane->stream);
  }
  cudaFree(lane->memory);
  delete lane;
}

int OpenLane(void* device, uint64_t bytes, void** opaque, ErrorTextV1* error) {
  auto* const lane = new (std::nothrow) GpuLane{.ordinal = static_cast<GpuDevice*>(device)->ordinal};
  if (lane == nullptr) return Check(cudaErrorMemoryAllocation, error);
  void* memory = nullptr;
  if (Check(cudaSetDevice(lane->ordinal), error) != 0 || Check(cudaMalloc(&memory, bytes), error) != 0 ||
      Check(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking), error) != 0) {
    cudaFree(memory);
    delete lane;
    return 1;
  }
  lane->memory = static_cast<std::byte*>(memory);
  *opaque = lane;
  return 0;
}

int Upload(void* opaque, uint64_t to, const void* from, uint64_t bytes, ErrorTextV1* error) {
  const auto* const lane = static_cast<GpuLane*>(opaque);
  return Check(cudaMemcpyAsync(lane->memory + to, from, bytes, cudaMemcpyHostToDevice, lane->stream), error);
}

int Download(void* opaque, void* to, uint64_t from, uint64_t bytes, ErrorTextV1* error) {
  const auto* const lane = static_cast<GpuLane*>(opaque);
  return Check(cudaMemcpyAsync(to, lane->memory + from, bytes, cudaMemcpyDeviceToHost, lane->stream), error);
}

// Whether one 2-D copy can do the level: rows may neither overlap nor lie further apart than it takes.
bool IsPlane(const CopyLevelV1& level, uint64_t run_bytes) {
  constexpr uint64_t kMaxPitch = (uint64_t{1} << 31) - 1;
  return level.from_step >= run_bytes && level.to_step >= run_bytes && level.from_step <= kMaxPitch &&
         level.to_step <= kMaxPitch;
}

cudaError_t CopyLevels(const GpuLane& lane, const BoxCopyV1& box, uint64_t level, uint64_t to, uint64_t from) {
  std::byte* const target = lane.memory + to;
  const std::byte* const source = lane.memory + from;
  if (level == box.level_count)
    return cudaMemcpyAsync(target, source, box.run_bytes, cudaMemcpyDeviceToDevice, lane.stream);
  const CopyLevelV1& here = box.levels[level];
  if (level + 1 == box.level_count && IsPlane(here, box.run_bytes)) {
    return cudaMemcpy2DAsync(target, here.to_step, source, here.from_step, box.run_bytes, here.count,
                             cudaMemcpyDeviceToDevice, lane.stream);
  }
  for (uint64_t i = 0; i < here.count; ++i) {
    const cudaError_t status = CopyLevels(lane, box, level + 1, to + i * here.to_step, from + i * here.from_step);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

int Copy(void* opaque, const BoxCopyV1* box, ErrorTextV1* error) {
  return Check(CopyLevels(*static_cast<GpuLane*>(opaque), *box, 0, box->to, box->from), error);
}

int Wait(void* opaque, ErrorTextV1* error) {
  return Check(cudaStreamSynchronize(static_cast<GpuLane*>(opaque)->stream), error);
}

int32_t MemoryKind(void* /*device*/) { return kCudaMemory; }

void* Address(void* opaque) { return static_cast<GpuLane*>(opaque)->memory; }

int MakeCurrent(void* opaque, ErrorTextV1* error) {
  if (Check(cudaSetDevice(static_cast<GpuLane*>(opaque)->ordinal), error) != 0) return 1;
  // Libraries on top of the driver look for the context of the thread, which before CUDA 12 is set by the next call.
  return Check(cudaFree(nullptr), error);
}

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
}  // namespace dcpctl::plugin

#define DCPCTL_TEXT(number) #number
#define DCPCTL_TEXT_OF(number) DCPCTL_TEXT(number)
DCPCTL_PLUGIN(dcpctl::plugin::kCopyDeviceKind, "CUDA runtime " DCPCTL_TEXT_OF(CUDART_VERSION), &dcpctl::plugin::kTable);
