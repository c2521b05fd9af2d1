// Outputs that are compressed, one frame each, and joined into files of a directory: those that follow one another
// under the same name become one file. How long each has become is known when it is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/zstd_writer.h"
#include "dcpctl/plan.h"
#include "engine/target.h"
#include "engine/turns.h"
#include "io/file_system.h"

namespace dcpctl::engine {

class ZstdTarget final : public Target {
 public:
  // Where an output lies in its file.
  struct Extent {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  // No output of the plan is empty. Names of outputs are relative to `directory`. All must outlive it.
  ZstdTarget(io::FileSystem& files, std::filesystem::path directory, const Plan& plan, ZstdWriter writer,
             std::stop_token stop)
      : files_(files),
        directory_(std::move(directory)),
        plan_(plan),
        writer_(std::move(writer)),
        turns_(std::move(stop)),
        extents_(plan.outputs.size()) {}

  Result<void> Begin(uint64_t number) override { return turns_.Wait(number); }
  Result<void> Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) override;
  void End(uint64_t number, bool ok) override { turns_.End(number, ok); }
  [[nodiscard]] bool ordered() const override { return true; }

  // After the run, by output.
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }

 private:
  Result<void> BeginOutput(uint32_t output);
  Result<void> EndOutput(uint32_t output);
  Result<void> Append(std::span<const std::byte> bytes);

  io::FileSystem& files_;
  const std::filesystem::path directory_;
  const Plan& plan_;
  ZstdWriter writer_;
  Turns turns_;
  // Only the task whose turn it is looks at these.
  std::vector<Extent> extents_;
  std::unique_ptr<io::WriteFile> file_;
  uint64_t file_bytes_ = 0;
  uint64_t taken_ = 0;  // of the output that is being written
};

}  // namespace dcpctl::engine
