// Outputs that are files of a directory, each opened for its first byte and published after its last: a checkpoint has
// more ranks than a process may hold files open.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/plan.h"
#include "engine/target.h"
#include "io/file_system.h"

namespace dcpctl::engine {

class DirectoryTarget final : public Target {
 public:
  // Names of outputs are relative to `directory`, their folders must be there. All must outlive it. The output called
  // `last`, if there is one, is published by FinishLast alone.
  DirectoryTarget(io::FileSystem& files, std::filesystem::path directory, const Plan& plan, std::string_view last = {})
      : files_(files), directory_(std::move(directory)), plan_(plan), last_(last), slots_(plan.outputs.size()) {}

  Result<void> Begin(uint64_t /*number*/) override { return {}; }
  Result<void> Write(uint32_t output, uint64_t offset, std::span<const std::byte> bytes) override;
  void End(uint64_t /*number*/, bool /*ok*/) override {}
  Result<void> Finish(uint32_t output) override;
  [[nodiscard]] bool ordered() const override { return false; }
  [[nodiscard]] Result<io::WriteFile*> File(uint32_t output) override;
  // After the run: makes the outputs without bytes, which no task writes.
  Result<void> FinishEmpty();
  // After that.
  Result<void> FinishLast();

 private:
  Result<void> Publish(uint32_t output);

  struct Slot {
    std::mutex mutex;  // guards the opening
    std::unique_ptr<io::WriteFile> file;
  };

  io::FileSystem& files_;
  const std::filesystem::path directory_;
  const Plan& plan_;
  const std::string last_;
  std::vector<Slot> slots_;
};

}  // namespace dcpctl::engine
