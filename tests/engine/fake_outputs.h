// Outputs in memory for the engine to write, which fail or clone on demand, and a short way to run a plan.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runner.h"
#include "io/file.h"
#include "io/sink.h"

namespace dcpctl::test {

// Called before bytes are written; an error refuses them.
using WriteHook = std::function<Result<void>(uint64_t offset, uint64_t length)>;

class BufferFile final : public io::WriteFile {
 public:
  struct Clone {
    uint64_t offset;
    uint64_t length;
  };

  // Filled with what no test expects to remain.
  explicit BufferFile(uint64_t bytes) : bytes_(bytes, '\xee') {}

  WriteHook on_write = {};
  // Asked for each clone; true copies the bytes. Errors are passed on.
  std::function<Result<bool>(uint64_t offset, uint64_t length)> on_clone = {};

  Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) override;
  // As the contract of WriteFile says: false off block boundaries.
  Result<bool> CloneRange(const io::ReadFile& source, uint64_t source_offset, uint64_t offset,
                          uint64_t length) override;
  Result<void> Allocate(uint64_t bytes) override;
  void StartWriteback(uint64_t /*offset*/, uint64_t /*length*/) override {}
  Result<void> Commit(bool /*replace*/) override { return {}; }
  [[nodiscard]] const std::filesystem::path& target() const override { return target_; }
  [[nodiscard]] const std::filesystem::path& temp_path() const override { return target_; }
  [[nodiscard]] int fd() const override { return -1; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Clone>& clones() const { return clones_; }

 private:
  const std::filesystem::path target_ = "/out/model.pt";
  std::mutex mutex_;  // guards the two below
  std::string bytes_;
  std::vector<Clone> clones_;
};

class BufferSink final : public io::Sink {
 public:
  WriteHook on_write = {};

  Result<void> Write(std::span<const std::byte> bytes) override;
  Result<void> Finish() override { return {}; }
  [[nodiscard]] uint64_t written() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  const std::string name_ = "standard output";
  std::string bytes_;
};

struct RunSettings {
  unsigned jobs = 2;
  uint64_t memory_bytes = uint64_t{64} << 20;
  Reflink reflink = Reflink::kAuto;
  plugin::Device* device = nullptr;
  std::stop_token stop = {};
  Observer* observer = nullptr;
  const plugin::TensorMathV1* math = nullptr;
};

Result<engine::RunOutcome> RunToFile(io::FileSystem& files, const Plan& plan, io::WriteFile& out,
                                     const RunSettings& settings = {});
Result<engine::RunOutcome> RunToStream(io::FileSystem& files, const Plan& plan, io::Sink& out,
                                       const RunSettings& settings = {});

// Compares long strings without printing them.
testing::AssertionResult SameBytes(const std::string& found, const std::string& expected);

}  // namespace dcpctl::test
