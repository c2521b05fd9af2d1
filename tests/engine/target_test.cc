#include "engine/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/directory_target.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"

namespace dcpctl::engine {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::Value;

TEST(StreamTarget, LetsTasksWriteInTheirOrder) {
  test::BufferSink sink;
  StreamTarget target(sink, {});
  std::string expected;
  {
    std::vector<std::jthread> threads;
    for (uint64_t number = 10; number-- > 0;) {
      threads.emplace_back([&target, number] {
        Value(target.Begin(number));
        Value(target.Write(0, number, BytesOf(std::string(1, static_cast<char>('a' + number)))));
        target.End(number, true);
      });
    }
  }
  EXPECT_EQ(sink.bytes(), "abcdefghij");
}

TEST(StreamTarget, CancelsThoseWhoWaitForAFailedTask) {
  test::BufferSink sink;
  StreamTarget target(sink, {});
  std::jthread waiting([&] { EXPECT_EQ(ErrorOf(target.Begin(3)).kind(), ErrorKind::kCancelled); });
  target.End(0, false);
  waiting.join();
  EXPECT_EQ(ErrorOf(target.Begin(1)).kind(), ErrorKind::kCancelled);
}

TEST(StreamTarget, CancelsThoseWhoWaitWhenStopped) {
  test::BufferSink sink;
  std::stop_source stop;
  StreamTarget target(sink, stop.get_token());
  std::jthread waiting([&] { EXPECT_EQ(ErrorOf(target.Begin(3)).kind(), ErrorKind::kCancelled); });
  stop.request_stop();
}

TEST(StreamTarget, RefusesBytesOutOfPlace) {
  test::BufferSink sink;
  StreamTarget target(sink, {});
  Value(target.Begin(0));
  EXPECT_EQ(ErrorOf(target.Write(0, 5, BytesOf("x"))).kind(), ErrorKind::kInternal);
  EXPECT_EQ(sink.bytes(), "");
}

TEST(FileTarget, WritesAnywhereInAnyOrder) {
  test::BufferFile first(4);
  test::BufferFile second(4);
  FileTarget target({&first, &second});
  Value(target.Begin(7));
  Value(target.Write(1, 2, BytesOf("cd")));
  target.End(7, true);
  Value(target.Write(0, 0, BytesOf("AB")));
  Value(target.Write(1, 0, BytesOf("ab")));
  EXPECT_EQ(second.bytes(), "abcd");
  EXPECT_EQ(first.bytes(), "AB\xee\xee");
  EXPECT_EQ(Value(target.File(1)), &second);
}

TEST(DirectoryTarget, OpensEachFileForItsFirstByteAndPublishesItAfterItsLast) {
  test::MemoryFileSystem files;
  files.PutDirectory("/out/sub");
  Plan plan;
  plan.outputs = {{.path = "a", .bytes = 4}, {.path = "sub/b", .bytes = 2}, {.path = "empty", .bytes = 0}};
  DirectoryTarget target(files, "/out", plan);
  EXPECT_EQ(files.Paths().size(), 0U);
  Value(target.Write(0, 2, BytesOf("cd")));
  Value(target.Write(0, 0, BytesOf("ab")));
  EXPECT_EQ(files.Paths().size(), 1U) << "under a temporary name";
  Value(target.Finish(0));
  EXPECT_EQ(files.Contents("/out/a"), "abcd");
  Value(target.Write(1, 0, BytesOf("xy")));
  Value(target.Finish(1));
  Value(target.FinishEmpty());
  EXPECT_THAT(files.Paths(), ::testing::ElementsAre("/out/a", "/out/empty", "/out/sub/b"));
}

TEST(DirectoryTarget, LeavesNothingOfWhatWasNotFinished) {
  test::MemoryFileSystem files;
  files.PutDirectory("/out");
  Plan plan;
  plan.outputs = {{.path = "a", .bytes = 4}};
  {
    DirectoryTarget target(files, "/out", plan);
    Value(target.Write(0, 0, BytesOf("ab")));
  }
  EXPECT_EQ(files.Paths().size(), 0U);
}

}  // namespace
}  // namespace dcpctl::engine
