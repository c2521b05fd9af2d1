// Where the engine writes: files, at any offset and from any thread, or a stream, in order. Tasks are
// numbered in the order of the outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "dcpctl/error.h"
#include "engine/turns.h"
#include "io/file.h"
#include "io/sink.h"

namespace dcpctl::engine {

// Thread-safe.
class Target {
 public:
  virtual ~Target() = default;
  // When this returns, everything before task `number` is written if the target is ordered. kCancelled when
  // that can no longer happen.
  virtual Result<void> Begin(uint64_t number) = 0;
  // Once for each task, after its Begin.
  virtual Result<void> Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) = 0;
  // The task is over, well or not.
  virtual void End(uint64_t number, bool ok) = 0;
  // All of the output is written. Once for each output that has bytes, by any thread.
  virtual Result<void> Finish(uint32_t /*output*/) { return {}; }
  // Whether bytes can be put in later, behind ones already written.
  [[nodiscard]] virtual bool ordered() const = 0;
  // The file of an output, for clones, until it is finished; null for a stream.
  [[nodiscard]] virtual Result<io::WriteFile*> File(uint32_t /*output*/) { return nullptr; }
};

// One file an output; they must outlive it.
class FileTarget final : public Target {
 public:
  explicit FileTarget(std::vector<io::WriteFile*> files) : files_(std::move(files)) {}
  Result<void> Begin(uint64_t /*number*/) override { return {}; }
  Result<void> Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) override;
  void End(uint64_t /*number*/, bool /*ok*/) override {}
  [[nodiscard]] bool ordered() const override { return false; }
  [[nodiscard]] Result<io::WriteFile*> File(uint32_t output) override { return files_[output]; }

 private:
  const std::vector<io::WriteFile*> files_;
};

// One output.
class StreamTarget final : public Target {
 public:
  StreamTarget(io::Sink& sink, const std::stop_token& stop) : sink_(sink), turns_(stop) { sink_.StopWhen(stop); }
  Result<void> Begin(uint64_t number) override { return turns_.Wait(number); }
  Result<void> Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) override;
  void End(uint64_t number, bool ok) override { turns_.End(number, ok); }
  [[nodiscard]] bool ordered() const override { return true; }

 private:
  io::Sink& sink_;
  Turns turns_;
};

}  // namespace dcpctl::engine
