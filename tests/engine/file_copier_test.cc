#include "engine/file_copier.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <string>

#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::engine {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;

// Two source files: one of whole blocks and a bit, one that is empty.
class FileCopierTest : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < 3 * 4096 + 5; ++i) bytes_ += static_cast<char>(i * 31 % 251);
    files_.Put("/ckpt/big", bytes_);
    files_.Put("/ckpt/empty", "");
    files_.PutDirectory("/out");
    for (const char* name : {"big", "empty"}) {
      const io::FileInfo info = Value(files_.Stat("/ckpt/" + std::string(name)));
      plan_.files.push_back({.root = "/ckpt", .relative = name, .bytes = info.bytes, .mtime_ns = info.mtime_ns});
    }
    plan_.copies = {{.file = 0, .path = "big"}, {.file = 1, .path = "empty"}, {.file = 0, .path = "again"}};
  }
  Result<RunOutcome> Copy(Reflink reflink = Reflink::kAuto, std::stop_token stop = {}) {
    return CopyFiles({.plan = plan_,
                      .files = files_,
                      .directory = "/out",
                      .jobs = 2,
                      .memory_bytes = 8192,
                      .reflink = reflink,
                      .stop = stop});
  }

  MemoryFileSystem files_;
  std::string bytes_;
  Plan plan_;
};

TEST_F(FileCopierTest, CopiesBytes) {
  const RunOutcome outcome = Value(Copy());
  EXPECT_EQ(files_.Contents("/out/big"), bytes_);
  EXPECT_EQ(files_.Contents("/out/again"), bytes_);
  EXPECT_EQ(files_.Contents("/out/empty"), "");
  EXPECT_EQ(outcome.bytes_read, 2 * bytes_.size());
  EXPECT_EQ(outcome.bytes_cloned, 0U);
}

TEST_F(FileCopierTest, SharesWholeBlocksAndCopiesTheRest) {
  files_.SetFaults({.can_clone = true});
  const RunOutcome outcome = Value(Copy(Reflink::kAlways));
  EXPECT_EQ(files_.Contents("/out/big"), bytes_);
  EXPECT_EQ(outcome.bytes_cloned, 2U * 3 * 4096);
  EXPECT_EQ(outcome.bytes_read, 2U * 5);
}

TEST_F(FileCopierTest, RefusesWhenItMustShareAndCannot) {
  EXPECT_EQ(ErrorOf(Copy(Reflink::kAlways)).kind(), ErrorKind::kUnsupported);
}

TEST_F(FileCopierTest, NoticesThatASourceChanged) {
  files_.Overwrite("/ckpt/big", bytes_);
  EXPECT_EQ(ErrorOf(Copy()).kind(), ErrorKind::kMismatch);
}

TEST_F(FileCopierTest, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ErrorOf(Copy(Reflink::kAuto, stop.get_token())).kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace dcpctl::engine
