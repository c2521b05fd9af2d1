#include "io/posix_read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "io/file_system.h"
#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::ReadAll;
using test::Value;

class PosixReadFile : public testing::Test {
 protected:
  PosixReadFile() { directory_.Put("f", "0123456789"); }

  std::unique_ptr<ReadFile> Open() { return Value(files_->OpenRead(directory_ / "f")); }
  Result<void> Read(const ReadFile& file, uint64_t offset, size_t length) {
    std::vector<std::byte> out(length);
    return file.ReadAt(offset, out);
  }

  test::TempDirectory directory_;
  test::FaultyCalls calls_;
  std::unique_ptr<FileSystem> files_ = NewPosixFileSystem(&calls_);
};

TEST_F(PosixReadFile, ReadsAnyRange) {
  const auto file = Open();
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(file->name(), (directory_ / "f").string());
  for (uint64_t offset = 0; offset <= 10; ++offset) {
    for (uint64_t length = 0; offset + length <= 10; ++length) {
      EXPECT_EQ(test::TextOf(Value(ReadRange(*file, offset, length))),
                std::string("0123456789").substr(offset, length));
    }
  }
}

TEST_F(PosixReadFile, RecordsTheFileAsItWas) {
  const auto file = Open();
  const FileInfo info = Value(files_->Stat(directory_ / "f"));
  EXPECT_EQ(file->info().type, FileType::kRegular);
  EXPECT_EQ(file->info().id, info.id);
  EXPECT_EQ(file->info().mtime_ns, info.mtime_ns);
  struct stat status {};
  ASSERT_EQ(::stat((directory_ / "f").c_str(), &status), 0);
  EXPECT_EQ(info.mtime_ns, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  EXPECT_EQ(info.id.inode, status.st_ino);
  EXPECT_GT(info.block_bytes, 0u);
}

TEST_F(PosixReadFile, ContinuesAfterShortAndInterruptedReads) {
  calls_.LimitTransfers(3);
  calls_.FailCall("PRead", EINTR, 1, 2);
  EXPECT_EQ(ReadAll(*Open()), "0123456789");
  EXPECT_EQ(calls_.Count("PRead"), 4u + 2u);
}

TEST_F(PosixReadFile, ReportsOffsetAndReasonOfAFailedRead) {
  const auto file = Open();
  calls_.LimitTransfers(4);
  calls_.FailCall("PRead", EIO, 1);
  const Error error = ErrorOf(Read(*file, 1, 9));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(error.ToString(), (directory_ / "f").string() + ":0x5: error: cannot read: Input/output error");
  EXPECT_EQ(calls_.Count("PRead"), 2u) << "EIO must not be retried";
}

TEST_F(PosixReadFile, RefusesRangesPastTheEnd) {
  const auto file = Open();
  EXPECT_EQ(ErrorOf(Read(*file, 0, 11)).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(Read(*file, 11, 0)).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(Read(*file, ~uint64_t{0}, 2)).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(calls_.Count("PRead"), 0u);
}

TEST_F(PosixReadFile, NoticesThatTheFileShrank) {
  const auto file = Open();
  ASSERT_EQ(::truncate((directory_ / "f").c_str(), 6), 0);
  const Error error = ErrorOf(Read(*file, 4, 6));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.message(), "file ended at 6, expected 10 bytes: it shrank while being read");
  EXPECT_TRUE(Read(*file, 0, 6));
}

TEST_F(PosixReadFile, IsUnchangedAfterReading) {
  const auto file = Open();
  ReadAll(*file);
  for (const auto hint : {AccessHint::kSequential, AccessHint::kRandom, AccessHint::kWillNeed, AccessHint::kDontNeed}) {
    file->Hint(hint);
  }
  EXPECT_TRUE(file->CheckUnchanged());
}

TEST_F(PosixReadFile, NoticesANewSize) {
  const auto file = Open();
  directory_.Put("f", "0123");
  const Error error = ErrorOf(file->CheckUnchanged());
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_EQ(error.message(), "changed since it was opened: its size is 4 bytes, expected 10");
}

TEST_F(PosixReadFile, NoticesANewModificationTime) {
  const auto file = Open();
  std::filesystem::last_write_time(directory_ / "f",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const Error error = ErrorOf(file->CheckUnchanged());
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_NE(error.message().find("modification time"), std::string::npos);
}

TEST_F(PosixReadFile, NoticesRemovalAndReplacement) {
  const auto file = Open();
  std::filesystem::remove(directory_ / "f");
  EXPECT_NE(ErrorOf(file->CheckUnchanged()).message().find("removed"), std::string::npos);
  directory_.Put("f", "0123456789");
  const Error error = ErrorOf(file->CheckUnchanged());
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_NE(error.message().find("replaced"), std::string::npos);
  EXPECT_EQ(ReadAll(*file), "0123456789") << "the opened file itself stays readable";
}

TEST_F(PosixReadFile, OpenRefusesWhatIsNotARegularFile) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  ::alarm(20);  // the test must not hang where opening does
  const Error fifo = ErrorOf(files_->OpenRead(directory_ / "fifo"));
  ::alarm(0);
  EXPECT_EQ(fifo.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(fifo.message(), "is a FIFO, expected a regular file");
  EXPECT_EQ(ErrorOf(files_->OpenRead(directory_.path())).message(), "is a directory, expected a regular file");
  EXPECT_EQ(ErrorOf(files_->OpenRead("/dev/null")).message(), "is a character device, expected a regular file");
  EXPECT_EQ(calls_.OpenDescriptors(), 0);
}

TEST_F(PosixReadFile, OpenNamesAMissingFile) {
  const Error error = ErrorOf(files_->OpenRead(directory_ / "no"));
  EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(error.ToString(), (directory_ / "no").string() + ": error: cannot open: No such file or directory");
  EXPECT_EQ(ErrorOf(files_->OpenRead(directory_ / "f/no")).kind(), ErrorKind::kNotFound);
}

TEST_F(PosixReadFile, OpensForReadingOnlyAndClosesOnExec) {
  const auto file = Open();
  EXPECT_EQ(::fcntl(file->fd(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(::fcntl(file->fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(PosixReadFile, OpenRetriesWhenInterruptedAndLeaksNothing) {
  calls_.FailCall("OpenAt", EINTR, 0, 2);
  EXPECT_EQ(ReadAll(*Open()), "0123456789");
  calls_.FailCall("FStat", EIO, 1);
  EXPECT_EQ(ErrorOf(files_->OpenRead(directory_ / "f")).kind(), ErrorKind::kIo);
  EXPECT_EQ(calls_.OpenDescriptors(), 0);
}

}  // namespace
}  // namespace dcpctl::io
