#include "io/sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "io/file_system.h"
#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::Value;

struct Pipe {
  explicit Pipe(int flags = 0) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) throw std::runtime_error("no pipe");
    reader = ends[0];
    writer = ends[1];
  }
  ~Pipe() {
    if (reader >= 0) ::close(reader);
  }
  // Until the writing end is closed.
  std::string ReadAll() const {
    std::string all;
    std::array<char, 1000> buffer{};
    for (;;) {
      const ssize_t got = ::read(reader, buffer.data(), buffer.size());
      if (got == 0) return all;
      if (got > 0) {
        all.append(buffer.data(), static_cast<size_t>(got));
      } else if (errno != EAGAIN) {
        throw std::runtime_error("read failed");
      }
    }
  }
  int reader = -1;
  int writer = -1;
};

TEST(FileSink, WritesFromFrontToBack) {
  const test::TempDirectory directory;
  const auto file = Value(NewPosixFileSystem()->CreateTemp(directory / "out"));
  const auto sink = NewFileSink(*file);
  EXPECT_EQ(sink->name(), (directory / "out").string());
  Value(sink->Write(BytesOf("abc")));
  Value(sink->Write(BytesOf("")));
  Value(sink->Write(BytesOf("def")));
  EXPECT_EQ(sink->written(), 6u);
  Value(sink->Finish());
  EXPECT_FALSE(std::filesystem::exists(directory / "out")) << "commit is the caller's";
  Value(file->Commit(false));
  EXPECT_EQ(directory.Contents("out"), "abcdef");
}

TEST(StreamSink, ContinuesShortAndInterruptedWrites) {
  const Pipe pipe;
  test::FaultyCalls calls;
  calls.LimitTransfers(3);
  calls.FailCall("Write", EINTR, 1, 2);
  const auto sink = NewStreamSink(pipe.writer, "out", &calls);
  Value(sink->Write(BytesOf("0123456789")));
  EXPECT_EQ(sink->written(), 10u);
  Value(sink->Finish());
  EXPECT_EQ(pipe.ReadAll(), "0123456789");
}

TEST(StreamSink, WaitsForANonBlockingReader) {
  const Pipe pipe(O_NONBLOCK);
  const std::string text(1'000'000, 'x');  // more than a pipe holds
  std::string seen;
  std::thread reader([&] { seen = pipe.ReadAll(); });
  const auto sink = NewStreamSink(pipe.writer, "out");
  Value(sink->Write(BytesOf(text)));
  Value(sink->Finish());
  reader.join();
  EXPECT_EQ(seen, text);
}

TEST(StreamSink, GivesUpOnAStalledReaderWhenStopped) {
  Pipe pipe;
  std::stop_source stop;
  const auto sink = NewStreamSink(pipe.writer, "pipe");
  sink->StopWhen(stop.get_token());
  std::jthread later([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const std::vector<std::byte> more_than_a_pipe_holds(size_t{4} << 20);
  EXPECT_EQ(ErrorOf(sink->Write(more_than_a_pipe_holds)).kind(), ErrorKind::kCancelled);
}

TEST(StreamSink, WritesAllToAReaderThatReadsWhileItMayBeStopped) {
  Pipe pipe;
  std::stop_source stop;
  std::string got;
  std::jthread reader([&] { got = pipe.ReadAll(); });
  {
    const auto sink = NewStreamSink(pipe.writer, "pipe");
    sink->StopWhen(stop.get_token());
    const std::string text(300'000, 'x');
    ASSERT_TRUE(sink->Write(BytesOf(text + "end")));
    EXPECT_EQ(sink->written(), text.size() + 3);
    ASSERT_TRUE(sink->Finish());
  }
  reader.join();
  EXPECT_EQ(got, std::string(300'000, 'x') + "end");
}

TEST(StreamSink, SaysThatTheReaderHasGone) {
  Pipe pipe;
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto sink = NewStreamSink(pipe.writer, "standard output");
  Value(sink->Write(BytesOf("abc")));
  ::close(std::exchange(pipe.reader, -1));
  const Error error = ErrorOf(sink->Write(BytesOf("def")));
  ::signal(SIGPIPE, before);
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(error.ToString(), "standard output:0x3: error: reader closed the pipe");
}

TEST(StreamSink, ReportsErrorsOfWritingAndClosing) {
  const test::TempDirectory directory;
  directory.Put("f", "");
  test::FaultyCalls calls;
  const auto files = NewPosixFileSystem(&calls);
  const auto sink = Value(files->OpenStream(directory / "f"));
  calls.FailCall("Write", ENOSPC, 1);
  calls.FailCall("Close", EDQUOT, 0);
  Value(sink->Write(BytesOf("abc")));
  EXPECT_EQ(ErrorOf(sink->Write(BytesOf("d"))).place().offset, 3u);
  EXPECT_EQ(calls.Count("Write"), 2u);
  EXPECT_EQ(ErrorOf(sink->Finish()).message(), "cannot close: Disk quota exceeded");
  EXPECT_EQ(calls.OpenDescriptors(), 0);
}

TEST(StreamSink, ClosesOnceAndOnlyOnce) {
  const test::TempDirectory directory;
  directory.Put("f", "longer than what follows");
  test::FaultyCalls calls;
  const auto files = NewPosixFileSystem(&calls);
  {
    const auto sink = Value(files->OpenStream(directory / "f"));
    Value(sink->Write(BytesOf("abc")));
    Value(sink->Finish());
    Value(sink->Finish());
  }
  EXPECT_EQ(calls.Count("Close"), 1u);
  EXPECT_EQ(directory.Contents("f"), "abc");
  { const auto sink = Value(files->OpenStream(directory / "f")); }
  EXPECT_EQ(calls.OpenDescriptors(), 0);
}

TEST(OpenStream, WritesToFifosAndDevices) {
  const test::TempDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  const auto files = NewPosixFileSystem();
  std::string seen;
  std::thread reader([&] { seen = directory.Contents("fifo"); });
  const auto sink = Value(files->OpenStream(directory / "fifo"));
  Value(sink->Write(BytesOf("through the FIFO")));
  Value(sink->Finish());
  reader.join();
  EXPECT_EQ(seen, "through the FIFO");
  Value(Value(files->OpenStream("/dev/null"))->Write(BytesOf("gone")));
  EXPECT_EQ(ErrorOf(Value(files->OpenStream("/dev/full"))->Write(BytesOf("x"))).message(),
            "cannot write: No space left on device");
}

TEST(OpenStream, MakesNothing) {
  const test::TempDirectory directory;
  const auto files = NewPosixFileSystem();
  EXPECT_EQ(ErrorOf(files->OpenStream(directory / "no")).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorOf(files->OpenStream(directory.path())).kind(), ErrorKind::kIo);
  EXPECT_EQ(directory.Names().size(), 0u);
}

TEST(OpenStandardOutput, LeavesTheProcessItsOwn) {
  Value(Value(OpenStandardOutput())->Finish());
  EXPECT_GE(::fcntl(STDOUT_FILENO, F_GETFD), 0);
}

}  // namespace
}  // namespace dcpctl::io
