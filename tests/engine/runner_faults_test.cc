// Runs that fail: each must end, on any number of threads, and say what went wrong first.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/runner.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::BufferFile;
using test::BufferSink;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::RunToFile;
using test::RunToStream;
using test::Sample;
using test::Value;

// About 7 MB in four tensors and a dozen tasks.
Sample SeveralTasks() {
  Sample sample(91);
  for (const char* key : {"a", "b", "c", "d"}) {
    sample.AddPlain(key, DType::kFloat32, {900, 500}, test::GridTiling(Dims{900, 500}, Dims{3, 1}));
  }
  return sample;
}

class RunnerFaults : public testing::TestWithParam<unsigned> {
 protected:
  RunnerFaults() : sample_(SeveralTasks()), plan_(sample_.Store(files_)) { settings_.jobs = GetParam(); }

  Error FileError() {
    BufferFile out(plan_.outputs[0].bytes);
    return ErrorOf(RunToFile(files_, plan_, out, settings_));
  }

  Error StreamError() {
    BufferSink out;
    return ErrorOf(RunToStream(files_, plan_, out, settings_));
  }

  // Of a run to a file of the memory file system, which must not appear under its name.
  Error MemoryFileError(const test::MemoryFaults& faults) {
    files_.PutDirectory("/out");
    const auto out = Value(files_.CreateTemp("/out/model.pt"));
    files_.SetFaults(faults);
    const Error error = ErrorOf(RunToFile(files_, plan_, *out, settings_));
    files_.SetFaults({});
    EXPECT_EQ(files_.Contents("/out/model.pt"), std::nullopt);
    return error;
  }

  std::vector<uint64_t> SomePlaces() const {
    const uint64_t bytes = plan_.outputs[0].bytes;
    return {0, 1, bytes / 7, bytes / 3, bytes / 2, bytes - 4000, bytes - 1};
  }

  MemoryFileSystem files_;
  Sample sample_;
  Plan plan_;
  test::RunSettings settings_;
};

TEST_P(RunnerFaults, ReportsAWriteErrorOfAFile) {
  for (const uint64_t place : SomePlaces()) {
    EXPECT_EQ(MemoryFileError({.write_error_at = place}).kind(), ErrorKind::kIo) << place;
  }
}

TEST_P(RunnerFaults, ReportsAFullDisk) {
  uint64_t stored = 0;
  for (uint64_t i = 0; i < 3; ++i) stored += sample_.contents(i).size();
  for (const uint64_t place : SomePlaces()) {
    const Error error = MemoryFileError({.space = stored + place});
    EXPECT_EQ(error.kind(), ErrorKind::kIo) << place;
    EXPECT_EQ(error.place().file, "/out/model.pt");
  }
}

TEST_P(RunnerFaults, ReportsTheErrorOfAStreamAndNotItsEcho) {
  for (const uint64_t place : SomePlaces()) {
    BufferSink out;
    out.on_write = [&](uint64_t offset, uint64_t length) -> Result<void> {
      if (place >= offset && place < offset + length) return Fail(ErrorKind::kIo, "reader closed the pipe");
      return {};
    };
    const Error error = ErrorOf(RunToStream(files_, plan_, out, settings_));
    EXPECT_EQ(error.kind(), ErrorKind::kIo) << place;
    EXPECT_EQ(error.message(), "reader closed the pipe");
    EXPECT_LE(out.written(), place);
  }
}

TEST_P(RunnerFaults, ReportsAReadErrorWithItsChunk) {
  const uint64_t place = *sample_.PlaceOf(4).offset + 1000;  // the middle of "b", in the second file
  for (const bool stream : {false, true}) {
    files_.SetFaults({.read_error_at = place});
    const Error error = stream ? StreamError() : FileError();
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_NE(error.Text().find("chunk ["), std::string::npos) << error.Text();
  }
}

TEST_P(RunnerFaults, FailsAtEachCallAndEnds) {
  files_.SetFaults({});
  BufferFile out(plan_.outputs[0].bytes);
  Value(RunToFile(files_, plan_, out, settings_));
  const uint64_t calls = files_.calls().size();
  ASSERT_GT(calls, 10u);
  for (uint64_t call = 0; call < calls; ++call) {
    for (const bool stream : {false, true}) {
      files_.SetFaults({.fail_call = call});
      const Error error = stream ? StreamError() : FileError();
      EXPECT_EQ(error.kind(), ErrorKind::kIo) << "call " << call << ": " << error.ToString();
    }
  }
}

// The first to read throws when the others have read too, and go on to wait for their turn.
TEST_P(RunnerFaults, EndsWhenACallThrows) {
  for (const bool stream : {false, true}) {
    std::atomic<unsigned> reads = 0;
    files_.SetFaults({.on_call = [&](uint64_t, std::string_view what) {
      if (!what.starts_with("read") || ++reads != 1) return;
      while (reads < GetParam()) std::this_thread::yield();
      throw std::runtime_error("out of something");
    }});
    const Error error = stream ? StreamError() : FileError();
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_EQ(error.message(), "out of something");
  }
}

TEST_P(RunnerFaults, ReportsADamagedChunk) {
  sample_.Damage(7, 12'345);
  plan_ = sample_.Store(files_);
  for (const bool stream : {false, true}) {
    const Error error = stream ? StreamError() : FileError();
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_EQ(error.place().file, sample_.PlaceOf(7).file);
    EXPECT_EQ(error.place().offset, sample_.PlaceOf(7).offset);
    EXPECT_NE(error.Text().find("chunk [300:600, 0:500] of \"c\""), std::string::npos) << error.Text();
  }
}

TEST_P(RunnerFaults, WritesNothingWhenStoppedBefore) {
  std::stop_source stop;
  stop.request_stop();
  settings_.stop = stop.get_token();
  EXPECT_EQ(FileError().kind(), ErrorKind::kCancelled);
  BufferSink out;
  EXPECT_EQ(ErrorOf(RunToStream(files_, plan_, out, settings_)).kind(), ErrorKind::kCancelled);
  EXPECT_EQ(out.written(), 0u);
}

TEST_P(RunnerFaults, IsCancelledInTheMiddle) {
  for (const bool stream : {false, true}) {
    std::stop_source stop;
    settings_.stop = stop.get_token();
    std::atomic<uint64_t> reads = 0;
    files_.SetFaults({.on_call = [&](uint64_t, std::string_view what) {
      if (what.starts_with("read") && ++reads == 4) stop.request_stop();
    }});
    EXPECT_EQ((stream ? StreamError() : FileError()).kind(), ErrorKind::kCancelled);
  }
}

TEST_P(RunnerFaults, NoticesASourceThatChangedSinceThePlan) {
  const std::string before = sample_.contents(1);
  for (const std::string& now : {before, before + "x", before.substr(1)}) {
    files_.Put("/ckpt/__1_0.distcp", before);
    plan_ = sample_.Store(files_);
    files_.Overwrite("/ckpt/__1_0.distcp", now);
    for (const bool stream : {false, true}) {
      const Error error = stream ? StreamError() : FileError();
      EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
      EXPECT_EQ(error.place().file, "/ckpt/__1_0.distcp");
    }
  }
}

// Also when what is read of it is no longer whole.
TEST_P(RunnerFaults, NoticesASourceThatChangesDuringTheRun) {
  for (const bool damaged : {false, true}) {
    for (const bool stream : {false, true}) {
      plan_ = sample_.Store(files_);
      std::string now = sample_.contents(1);
      if (damaged) std::fill(now.begin(), now.end(), '\0');
      std::atomic<uint64_t> reads = 0;
      files_.SetFaults({.on_call = [&](uint64_t, std::string_view what) {
        if (what == "read /ckpt/__1_0.distcp" && ++reads == 2) files_.Overwrite("/ckpt/__1_0.distcp", now);
      }});
      const Error error = stream ? StreamError() : FileError();
      EXPECT_EQ(error.kind(), ErrorKind::kMismatch) << error.ToString();
      EXPECT_EQ(error.place().file, "/ckpt/__1_0.distcp");
      files_.SetFaults({});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, RunnerFaults, testing::Values(1u, 2u, 5u), testing::PrintToStringParamName());

}  // namespace
}  // namespace dcpctl::engine
