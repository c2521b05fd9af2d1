// A conversion on a file system that fails and dies at every call. For a loss of power see power_loss_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "ops/to_torch.h"
#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::MemoryFileSystem;

const char* const kTarget = "/out/model.pt";
const char* const kOld = "old";

class ToTorchFaults : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    dcp::SampleCheckpoint sample;
    sample.AddTensor("w", {"w"}, {64, 16}, 0,
                     {{.offsets = {0, 0}, .sizes = {32, 16}},
                      {.offsets = {32, 0}, .sizes = {32, 16}, .file = "__1_0.distcp", .zstd = true}});
    sample.AddInt("step", {"step"}, 7);
    source_ = sample.Finish();
    const auto files = NewFiles();
    files->SetFaults({});
    test::Value(Convert(*files));
    calls_ = files->calls().size();
    complete_ = files->Contents(kTarget).value();
    ASSERT_GT(calls_, 20U);
  }

  [[nodiscard]] bool replaces() const { return GetParam(); }

  std::unique_ptr<MemoryFileSystem> NewFiles() const {
    auto files = std::make_unique<MemoryFileSystem>();
    for (const auto& [name, bytes] : source_) files->Put("/ckpt/" + name, bytes);
    files->PutDirectory("/out");
    if (replaces()) files->Put(kTarget, kOld);
    return files;
  }

  Result<ConvertReport> Convert(MemoryFileSystem& files) const {
    return ToTorch(files, "/ckpt", kTarget, {.run = {.jobs = 1, .force = replaces()}});
  }

  // The target is complete, or what it was.
  void ExpectWhole(MemoryFileSystem& files) const {
    const auto there = files.Contents(kTarget);
    const auto before = replaces() ? std::optional<std::string>(kOld) : std::nullopt;
    EXPECT_TRUE(there == before || there == complete_) << (there ? there->size() : 0) << " bytes";
  }

  std::map<std::string, std::string> source_;
  size_t calls_ = 0;
  std::string complete_;
};

TEST_P(ToTorchFaults, EveryFailedCallLeavesNothing) {  // R10
  for (const int code : {EIO, ENOSPC, EDQUOT}) {
    for (size_t call = 0; call < calls_; ++call) {
      const auto files = NewFiles();
      files->SetFaults({.fail_call = call, .fail_errno = code});
      const auto report = Convert(*files);
      SCOPED_TRACE("call " + std::to_string(call) + ": " + files->calls().at(call));
      ExpectWhole(*files);
      if (report) {
        EXPECT_EQ(files->Contents(kTarget), complete_);
      } else {
        EXPECT_FALSE(report.error().place().file.empty()) << report.error().ToString();
      }
      for (const std::string& path : files->Paths()) EXPECT_EQ(path.find(".tmp"), std::string::npos) << path;
    }
  }
}

TEST_P(ToTorchFaults, AFullDiskLeavesNothing) {  // C91
  for (size_t room = 0; room < complete_.size(); room += 100) {
    const auto files = NewFiles();
    size_t used = 0;
    for (const std::string& path : files->Paths()) used += files->Contents(path)->size();
    files->SetFaults({.space = used + room});
    const auto report = Convert(*files);
    ASSERT_FALSE(report) << room;
    EXPECT_EQ(report.error().kind(), ErrorKind::kIo);
    ExpectWhole(*files);
    EXPECT_EQ(files->Paths().size(), source_.size() + (replaces() ? 1 : 0));
  }
}

TEST_P(ToTorchFaults, DeathAtEveryCallLeavesNothingBroken) {  // R8
  for (size_t call = 0; call <= calls_; ++call) {
    const auto files = NewFiles();
    files->SetFaults({.stop_call = call});
    (void)Convert(*files).has_value();
    files->SetFaults({});
    SCOPED_TRACE("call " + std::to_string(call));
    ExpectWhole(*files);
  }
}

std::string NameOf(const testing::TestParamInfo<bool>& info) { return info.param ? "OldFile" : "NewFile"; }

INSTANTIATE_TEST_SUITE_P(All, ToTorchFaults, testing::Bool(), NameOf);

}  // namespace
}  // namespace dcpctl::ops
