#include "tests/engine/fake_outputs.h"

#include <algorithm>
#include <cstring>

#include "base/result.h"
#include "plan/schedule.h"
#include "support/result.h"

namespace dcpctl::test {
namespace {

constexpr uint64_t kBlock = 4096;

Result<engine::RunOutcome> Run(io::FileSystem& files, const Plan& plan, engine::Target& target,
                               const RunSettings& settings) {
  DCPCTL_ASSIGN(const Schedule schedule,
                MakeSchedule(plan, {.jobs = settings.jobs, .memory_bytes = settings.memory_bytes}));
  return engine::RunPlan({.plan = plan,
                          .schedule = schedule,
                          .files = files,
                          .target = target,
                          .scratch_directory = "/",
                          .reflink = settings.reflink,
                          .device = settings.device,
                          .stop = settings.stop,
                          .observer = settings.observer,
                          .math = settings.math});
}

}  // namespace

Result<void> BufferFile::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  if (on_write) DCPCTL_TRY(on_write(offset, bytes.size()));
  const std::lock_guard lock(mutex_);
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset) {
    return Fail(ErrorKind::kInternal, "written past the end");
  }
  std::copy_n(reinterpret_cast<const char*>(bytes.data()), bytes.size(),
              bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Result<bool> BufferFile::CloneRange(const io::ReadFile& source, uint64_t source_offset, uint64_t offset,
                                    uint64_t length) {
  if (length == 0) return true;
  if (!on_clone || source_offset % kBlock != 0 || offset % kBlock != 0 || length % kBlock != 0) return false;
  DCPCTL_ASSIGN(const bool accepted, on_clone(offset, length));
  if (!accepted) return false;
  std::vector<std::byte> bytes(length);
  DCPCTL_TRY(source.ReadAt(source_offset, bytes));
  const std::lock_guard lock(mutex_);
  bytes_.replace(offset, length, TextOf(bytes));
  clones_.push_back({.offset = offset, .length = length});
  return true;
}

Result<void> BufferFile::Allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_.resize(bytes);
  return {};
}

Result<void> BufferSink::Write(std::span<const std::byte> bytes) {
  if (on_write) DCPCTL_TRY(on_write(bytes_.size(), bytes.size()));
  bytes_ += TextOf(bytes);
  return {};
}

Result<engine::RunOutcome> RunToFile(io::FileSystem& files, const Plan& plan, io::WriteFile& out,
                                     const RunSettings& settings) {
  engine::FileTarget target({&out});
  return Run(files, plan, target, settings);
}

Result<engine::RunOutcome> RunToStream(io::FileSystem& files, const Plan& plan, io::Sink& out,
                                       const RunSettings& settings) {
  engine::StreamTarget target(out, settings.stop);
  return Run(files, plan, target, settings);
}

testing::AssertionResult SameBytes(const std::string& found, const std::string& expected) {
  const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  if (a == found.end() && b == expected.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << found.size() << " bytes, expected " << expected.size()
                                     << "; the first other one is number " << (a - found.begin());
}

}  // namespace dcpctl::test
