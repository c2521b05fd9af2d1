#include "io/posix_write_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "io/file_system.h"
#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::FaultyCalls;
using test::Value;
using Names = std::set<std::string>;

class PosixWriteFile : public testing::Test {
 protected:
  std::unique_ptr<WriteFile> Create() { return Value(NewPosixWriteFile(calls_, directory_ / "out")); }

  test::TempDirectory directory_;
  FaultyCalls calls_;
};

TEST_F(PosixWriteFile, AppearsUnderItsNameOnlyOnCommit) {
  {
    const auto file = Create();
    Value(file->WriteAt(4, BytesOf("5678")));
    Value(file->WriteAt(0, BytesOf("1234")));
    ASSERT_EQ(directory_.Names().size(), 1u);
    const std::string temp = *directory_.Names().begin();
    EXPECT_EQ(file->temp_path(), directory_ / temp);
    EXPECT_TRUE(temp.starts_with(".out.") && temp.ends_with(".tmp")) << temp;
    EXPECT_EQ(temp.size(), std::string(".out.XXXXXX.tmp").size());
    Value(file->Commit(false));
    EXPECT_EQ(directory_.Names(), Names{"out"});
  }
  EXPECT_EQ(directory_.Contents("out"), "12345678");
  EXPECT_EQ(calls_.OpenDescriptors(), 0);
}

TEST_F(PosixWriteFile, LeavesNothingWithoutCommit) {
  Value(Create()->WriteAt(0, BytesOf("x")));
  EXPECT_EQ(directory_.Names(), Names{});
  EXPECT_EQ(calls_.OpenDescriptors(), 0);
}

TEST_F(PosixWriteFile, SyncsTheFileBeforeAndTheDirectoryAfterTheRename) {
  const auto file = Create();
  calls_.FailCall("FSync", EIO, 0);
  EXPECT_EQ(ErrorOf(file->Commit(true)).ToString(),
            (directory_ / "out").string() + ": error: cannot sync: Input/output error");
  EXPECT_EQ(calls_.Count("RenameAt2"), 0u);
  EXPECT_EQ(calls_.Count("FSync"), 1u) << "a failed sync must not be retried";
  EXPECT_EQ(ErrorOf(file->Commit(true)).kind(), ErrorKind::kInternal);
  EXPECT_EQ(calls_.Count("FSync"), 1u);
}

TEST_F(PosixWriteFile, SaysThatTheFileIsInPlaceWhenOnlyTheDirectoryFailsToSync) {
  calls_.FailCall("FSync", EIO, 1);
  {
    const auto file = Create();
    const Error error = ErrorOf(file->Commit(false));
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_NE(error.Text().find("in place"), std::string::npos);
  }
  EXPECT_EQ(directory_.Names(), Names{"out"}) << "published: not to be removed any more";
}

TEST_F(PosixWriteFile, AcceptsDirectoriesThatHaveNothingToSync) {
  calls_.FailCall("FSync", EINVAL, 1);
  EXPECT_TRUE(Create()->Commit(false));
}

TEST_F(PosixWriteFile, ReplacesOnlyWhenAsked) {
  directory_.Put("out", "old");
  const Error error = ErrorOf(Create()->Commit(false));
  EXPECT_EQ(error.kind(), ErrorKind::kExists);
  EXPECT_EQ(error.ToString(), (directory_ / "out").string() + ": error: already exists\n  use --force to replace it");
  EXPECT_EQ(directory_.Contents("out"), "old");
  const auto file = Create();
  Value(file->WriteAt(0, BytesOf("new")));
  Value(file->Commit(true));
  EXPECT_EQ(directory_.Contents("out"), "new");
  EXPECT_EQ(directory_.Names(), Names{"out"});
}

TEST_F(PosixWriteFile, ReplacesALinkAndNotItsTarget) {
  directory_.Put("precious", "precious");
  std::filesystem::create_symlink("precious", directory_ / "out");
  EXPECT_EQ(ErrorOf(Create()->Commit(false)).kind(), ErrorKind::kExists);
  Value(Create()->Commit(true));
  EXPECT_EQ(directory_.Contents("precious"), "precious");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(directory_ / "out")));
}

TEST_F(PosixWriteFile, DoesNotReplaceADirectory) {
  std::filesystem::create_directory(directory_ / "out");
  EXPECT_FALSE(Create()->Commit(true));
  EXPECT_EQ(ErrorOf(Create()->Commit(false)).kind(), ErrorKind::kExists);
  EXPECT_EQ(directory_.Names(), Names{"out"});
}

TEST_F(PosixWriteFile, OneOfManyWritersWins) {
  constexpr int kWriters = 8;
  std::atomic<int> won = 0;
  std::atomic<int> lost = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      const auto file = Value(NewPosixWriteFile(KernelCalls(), directory_ / "out"));
      const auto committed = file->Commit(false);
      ++(committed ? won : lost);
      if (!committed) {
        EXPECT_EQ(committed.error().kind(), ErrorKind::kExists);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(lost, kWriters - 1);
  EXPECT_EQ(directory_.Names(), Names{"out"});
}

TEST_F(PosixWriteFile, HonoursTheUmask) {
  const mode_t before = ::umask(027);
  Value(Create()->Commit(false));
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((directory_ / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(PosixWriteFile, ContinuesShortAndInterruptedWrites) {
  calls_.LimitTransfers(3);
  calls_.FailCall("PWrite", EINTR, 1, 2);
  const auto file = Create();
  Value(file->WriteAt(0, BytesOf("0123456789")));
  EXPECT_EQ(calls_.Count("PWrite"), 4u + 2u);
  Value(file->Commit(false));
  EXPECT_EQ(directory_.Contents("out"), "0123456789");
}

TEST_F(PosixWriteFile, ReportsOffsetAndReasonOfAFailedWrite) {
  calls_.LimitTransfers(4);
  for (const int err : {EIO, ENOSPC, EDQUOT, EAGAIN}) {
    const unsigned before = calls_.Count("PWrite");
    calls_.FailCall("PWrite", err, before + 1);
    const auto file = Create();
    const Error error = ErrorOf(file->WriteAt(16, BytesOf("0123456789")));
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.place().offset, 16u + 4u);
    EXPECT_EQ(calls_.Count("PWrite"), before + 2);
  }
  EXPECT_FALSE(Create()->WriteAt(uint64_t{1} << 63, BytesOf("x")));
}

TEST_F(PosixWriteFile, AllocatesTheExactSize) {
  const auto file = Create();
  Value(file->Allocate(100'000));
  struct stat status {};
  ASSERT_EQ(::fstat(file->fd(), &status), 0);
  EXPECT_EQ(status.st_size, 100'000);
  Value(file->Allocate(10));
  ASSERT_EQ(::fstat(file->fd(), &status), 0);
  EXPECT_EQ(status.st_size, 10);
  EXPECT_TRUE(file->Allocate(0));
}

TEST_F(PosixWriteFile, AllocatesWhereThereIsNoSupport) {
  for (const int err : {EOPNOTSUPP, ENOSYS}) {
    calls_.FailCall("FAllocate", err, calls_.Count("FAllocate"));
    const auto file = Create();
    Value(file->Allocate(5));
    Value(file->Commit(true));
    EXPECT_EQ(directory_.Contents("out"), std::string(5, '\0'));
  }
}

TEST_F(PosixWriteFile, SaysHowMuchSpaceIsNeeded) {
  for (const int err : {ENOSPC, EDQUOT}) {
    calls_.FailCall("FAllocate", err, calls_.Count("FAllocate"));
    const Error error = ErrorOf(Create()->Allocate(12'345));
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.message(), "no space: needs 12345 bytes");
    EXPECT_NE(error.advice(), "");
  }
  calls_.FailCall("FAllocate", EIO, calls_.Count("FAllocate"));
  EXPECT_EQ(ErrorOf(Create()->Allocate(12'345)).message(), "cannot reserve room: Input/output error");
  EXPECT_FALSE(Create()->Allocate(uint64_t{1} << 63));
}

TEST_F(PosixWriteFile, CloneFallsBackOnNamedErrorsOnly) {
  directory_.Put("source", std::string(8192, 's'));
  const auto files = NewPosixFileSystem();
  const auto source = Value(files->OpenRead(directory_ / "source"));
  const auto file = Create();
  for (const int err : {EBADF, EINVAL, EOPNOTSUPP, ENOTTY, EXDEV, ETXTBSY, ENOSYS, EPERM, EAGAIN}) {
    calls_.FailCall("CloneRange", err, calls_.Count("CloneRange"));
    EXPECT_FALSE(Value(file->CloneRange(*source, 0, 0, 4096))) << err;
  }
  for (const int err : {EIO, ENOSPC, EDQUOT, EROFS, ENOMEM}) {
    calls_.FailCall("CloneRange", err, calls_.Count("CloneRange"));
    EXPECT_EQ(ErrorOf(file->CloneRange(*source, 0, 0, 4096)).kind(), ErrorKind::kIo) << err;
  }
}

TEST_F(PosixWriteFile, CloneOfNothingAsksNobody) {
  directory_.Put("source", "s");
  const auto source = Value(NewPosixFileSystem()->OpenRead(directory_ / "source"));
  EXPECT_TRUE(Value(Create()->CloneRange(*source, 0, 0, 0)));
  EXPECT_EQ(calls_.Count("CloneRange"), 0u);
}

TEST_F(PosixWriteFile, CloneCopiesOrSaysThatItDidNot) {
  directory_.Put("source", std::string(4096, 'a') + std::string(4096, 'b'));
  const auto source = Value(NewPosixFileSystem()->OpenRead(directory_ / "source"));
  const auto file = Create();
  Value(file->Allocate(8192));
  const bool cloned = Value(file->CloneRange(*source, 4096, 0, 4096));
  Value(file->Commit(false));
  EXPECT_EQ(directory_.Contents("out"), std::string(4096, cloned ? 'b' : '\0') + std::string(4096, '\0'));
}

TEST_F(PosixWriteFile, RemovesOnlyTheFileThatItMade) {
  std::string temp;
  {
    const auto file = Create();
    temp = file->temp_path().filename();
    std::filesystem::remove(file->temp_path());
    directory_.Put(temp, "of somebody else");
  }
  EXPECT_EQ(directory_.Contents(temp), "of somebody else");
}

TEST_F(PosixWriteFile, DoesNotPublishAFileOfSomebodyElse) {
  const auto file = Create();
  std::filesystem::remove(file->temp_path());
  EXPECT_NE(ErrorOf(file->Commit(true)).message().find("removed or replaced"), std::string::npos);
  directory_.Put(file->temp_path().filename().string(), "of somebody else");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

TEST_F(PosixWriteFile, StaysInTheDirectoryThatItBeganIn) {
  std::filesystem::create_directory(directory_ / "a");
  const auto file = Value(NewPosixWriteFile(calls_, directory_ / "a/out"));
  std::filesystem::rename(directory_ / "a", directory_ / "b");
  Value(file->Commit(false));
  EXPECT_EQ(directory_.Contents("b/out"), "");
}

TEST_F(PosixWriteFile, RefusesTargetsWithoutAFileName) {
  for (const char* const target : {"", "/", "a/", ".", "a/.."}) {
    EXPECT_EQ(ErrorOf(NewPosixWriteFile(calls_, target)).kind(), ErrorKind::kUsage) << target;
  }
  EXPECT_EQ(ErrorOf(NewPosixWriteFile(calls_, directory_ / "no/out")).kind(), ErrorKind::kNotFound);
}

// What a job does with an output, from first to last call.
Result<void> WriteAll(const SystemCalls& calls, const std::filesystem::path& target, bool replace) {
  auto created = NewPosixWriteFile(calls, target);
  if (!created) return Fail(std::move(created).error());
  WriteFile& file = **created;
  if (auto done = file.Allocate(6); !done) return done;
  if (auto done = file.WriteAt(0, BytesOf("new")); !done) return done;
  if (auto done = file.WriteAt(3, BytesOf("new")); !done) return done;
  file.StartWriteback(0, 6);
  return file.Commit(replace);
}

// Every call of every function fails once with every errno: no output, or the whole one; nothing left behind.
TEST_F(PosixWriteFile, AnyFailureLeavesTheOldOrTheCompleteFile) {
  FaultyCalls clean;
  directory_.Put("out", "old");
  Value(WriteAll(clean, directory_ / "out", true));
  unsigned failures = 0;
  for (const std::string name : {"OpenAt", "FStat", "FTruncate", "FAllocate", "PWrite", "FSync", "RenameAt2"}) {
    ASSERT_GT(clean.Count(name), 0u) << name;
    for (unsigned call = 0; call < clean.Count(name); ++call) {
      for (const int err : {EIO, ENOSPC, EDQUOT, EINTR, EAGAIN, EACCES, ENOMEM}) {
        directory_.Put("out", "old");
        FaultyCalls faulty;
        faulty.FailCall(name, err, call);
        const auto written = WriteAll(faulty, directory_ / "out", true);
        failures += written ? 0 : 1;
        const bool in_place = written || written.error().Text().find("in place") != std::string::npos;
        EXPECT_EQ(directory_.Contents("out"), in_place ? "newnew" : "old") << name << " " << call << " " << err;
        EXPECT_EQ(directory_.Names(), Names{"out"}) << name << " " << call << " " << err;
        EXPECT_EQ(faulty.OpenDescriptors(), 0) << name << " " << call << " " << err;
        if (!written) {
          EXPECT_EQ(written.error().kind(), ErrorKind::kIo) << written.error().ToString();
        }
      }
    }
  }
  EXPECT_GT(failures, 50u);
}

// The process is killed before each call in turn.
TEST_F(PosixWriteFile, DeathAtAnyCallLeavesTheOldOrTheCompleteFile) {
  FaultyCalls clean;
  directory_.Put("out", "old");
  Value(WriteAll(clean, directory_ / "out", true));
  unsigned complete = 0;
  for (unsigned call = 0; call < clean.Total(); ++call) {
    directory_.Put("out", "old");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FaultyCalls faulty;
      faulty.DieAt(call);
      (void)WriteAll(faulty, directory_ / "out", true);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "the process did not get to call " << call;
    const std::string found = directory_.Contents("out");
    EXPECT_TRUE(found == "old" || found == "newnew") << found;
    complete += found == "old" ? 0 : 1;
  }
  EXPECT_GE(complete, 1u) << "death after the rename";
  EXPECT_LT(complete, clean.Total());
}

}  // namespace
}  // namespace dcpctl::io
