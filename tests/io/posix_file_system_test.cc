#include <gtest/gtest.h>

#include <sys/stat.h>
#include <algorithm>

#include "io/file_system.h"
#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::Value;
using Names = std::set<std::string>;

class PosixFileSystem : public testing::Test {
 protected:
  test::TempDirectory directory_;
  test::FaultyCalls calls_;
  std::unique_ptr<FileSystem> files_ = NewPosixFileSystem(&calls_);
};

TEST_F(PosixFileSystem, StatTellsTypesApart) {
  directory_.Put("f", "abc");
  fs::create_symlink("f", directory_ / "link");
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(Value(files_->Stat(directory_ / "f")).type, FileType::kRegular);
  EXPECT_EQ(Value(files_->Stat(directory_ / "f")).bytes, 3u);
  EXPECT_EQ(Value(files_->Stat(directory_ / "link")).id, Value(files_->Stat(directory_ / "f")).id);
  EXPECT_EQ(Value(files_->Stat(directory_.path())).type, FileType::kDirectory);
  EXPECT_EQ(Value(files_->Stat(directory_ / "fifo")).type, FileType::kFifo);
  EXPECT_EQ(Value(files_->Stat("/dev/null")).type, FileType::kCharDevice);
  EXPECT_EQ(ErrorOf(files_->Stat(directory_ / "no")).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorOf(files_->Stat(directory_ / "f/no")).kind(), ErrorKind::kNotFound);
}

TEST_F(PosixFileSystem, LinkGivesASecondName) {
  directory_.Put("f", "abc");
  const auto source = Value(files_->OpenRead(directory_ / "f"));
  Value(files_->Link(*source, directory_ / "g"));
  EXPECT_EQ(Value(files_->Stat(directory_ / "g")).id, source->info().id);
  EXPECT_EQ(ErrorOf(files_->Link(*source, directory_ / "g")).kind(), ErrorKind::kExists);
}

TEST_F(PosixFileSystem, LinkNoticesThatTheNameIsAnotherFileNow) {
  directory_.Put("f", "abc");
  const auto source = Value(files_->OpenRead(directory_ / "f"));
  directory_.Put("other", "xyz");
  fs::rename(directory_ / "other", directory_ / "f");
  EXPECT_EQ(ErrorOf(files_->Link(*source, directory_ / "g")).kind(), ErrorKind::kMismatch);
  EXPECT_FALSE(fs::exists(directory_ / "g"));
}

TEST_F(PosixFileSystem, LinkSaysWhereThereAreNoLinks) {
  directory_.Put("f", "abc");
  const auto source = Value(files_->OpenRead(directory_ / "f"));
  unsigned call = 0;
  for (const int err : {EXDEV, EPERM, EMLINK}) {
    calls_.FailCall("LinkAt", err, call++);
    const Error error = ErrorOf(files_->Link(*source, directory_ / "g"));
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << err;
    EXPECT_EQ(error.advice(), "copy it instead");
  }
}

TEST_F(PosixFileSystem, RealPathResolvesLinksAndKeepsWhatIsNotThere) {
  fs::create_directory(directory_ / "d");
  fs::create_symlink("d", directory_ / "link");
  EXPECT_EQ(Value(files_->RealPath(directory_ / "link/../d/./new/x")), directory_ / "d/new/x");
  EXPECT_EQ(Value(files_->RealPath(directory_ / "link/")), directory_ / "d");
  EXPECT_EQ(Value(files_->RealPath(directory_ / "link/new/")), directory_ / "d/new");
  EXPECT_EQ(Value(files_->RealPath("/")), "/");
  EXPECT_TRUE(Value(files_->RealPath("not-here")).is_absolute());
}

TEST_F(PosixFileSystem, FreeBytesTakesTheNearestParent) {
  const uint64_t here = Value(files_->FreeBytes(directory_.path()));
  EXPECT_GT(here, 0u);
  const uint64_t there = Value(files_->FreeBytes(directory_ / "not/yet/made"));
  // Other processes write meanwhile.
  EXPECT_LT(std::max(here, there) - std::min(here, there), uint64_t{8} << 30);
}

TEST_F(PosixFileSystem, MakeDirectorySaysWhetherItDid) {
  EXPECT_TRUE(Value(files_->MakeDirectory(directory_ / "d")));
  EXPECT_FALSE(Value(files_->MakeDirectory(directory_ / "d")));
  directory_.Put("f", "");
  EXPECT_EQ(ErrorOf(files_->MakeDirectory(directory_ / "f")).kind(), ErrorKind::kExists);
  EXPECT_EQ(ErrorOf(files_->MakeDirectory(directory_ / "no/d")).kind(), ErrorKind::kNotFound);
  EXPECT_TRUE(files_->SyncDirectory(directory_ / "d"));
  EXPECT_EQ(ErrorOf(files_->SyncDirectory(directory_ / "no")).kind(), ErrorKind::kNotFound);
  calls_.FailCall("FSync", EIO, calls_.Count("FSync"));
  EXPECT_EQ(ErrorOf(files_->SyncDirectory(directory_ / "d")).kind(), ErrorKind::kIo);
}

TEST_F(PosixFileSystem, RenameReplacesOnlyWhenAsked) {
  directory_.Put("from", "new");
  directory_.Put("to", "old");
  EXPECT_EQ(ErrorOf(files_->Rename(directory_ / "from", directory_ / "to", false)).kind(), ErrorKind::kExists);
  EXPECT_EQ(directory_.Contents("to"), "old");
  Value(files_->Rename(directory_ / "from", directory_ / "to", true));
  EXPECT_EQ(directory_.Contents("to"), "new");
  Value(files_->Rename(directory_ / "to", directory_ / "fresh", false));
  EXPECT_EQ(directory_.Names(), Names{"fresh"});
}

TEST_F(PosixFileSystem, RemovesFilesAndEmptyDirectories) {
  directory_.Put("d/f", "");
  EXPECT_EQ(ErrorOf(files_->RemoveDirectory(directory_ / "d")).kind(), ErrorKind::kIo);
  EXPECT_EQ(ErrorOf(files_->RemoveFile(directory_ / "d")).kind(), ErrorKind::kIo);
  Value(files_->RemoveFile(directory_ / "d/f"));
  EXPECT_EQ(ErrorOf(files_->RemoveFile(directory_ / "d/f")).kind(), ErrorKind::kNotFound);
  Value(files_->RemoveDirectory(directory_ / "d"));
  EXPECT_EQ(directory_.Names(), Names{});
}

TEST_F(PosixFileSystem, SameFileIsAboutInodes) {
  directory_.Put("a", "x");
  directory_.Put("b", "x");
  fs::create_hard_link(directory_ / "a", directory_ / "hard");
  fs::create_symlink("a", directory_ / "soft");
  EXPECT_TRUE(Value(SameFile(*files_, directory_ / "a", directory_ / "hard")));
  EXPECT_TRUE(Value(SameFile(*files_, directory_ / "a", directory_ / "soft")));
  EXPECT_FALSE(Value(SameFile(*files_, directory_ / "a", directory_ / "b")));
  EXPECT_FALSE(Value(SameFile(*files_, directory_ / "a", directory_ / "no")));
  EXPECT_FALSE(Value(SameFile(*files_, directory_ / "no", directory_ / "no")));
}

TEST_F(PosixFileSystem, IsInsideSeesThroughLinks) {
  fs::create_directories(directory_ / "d/e");
  fs::create_directories(directory_ / "d2");
  fs::create_symlink("d/e", directory_ / "link");
  const auto inside = [&](const char* path, const char* of) {
    return Value(IsInside(*files_, directory_ / path, directory_ / of));
  };
  EXPECT_TRUE(inside("d/e", "d"));
  EXPECT_TRUE(inside("d", "d"));
  EXPECT_TRUE(inside("d/", "d"));
  EXPECT_TRUE(inside("d", "d/"));
  EXPECT_TRUE(inside("link/new", "d"));
  EXPECT_TRUE(inside("new/x", "new/"));
  EXPECT_FALSE(inside("d2", "d"));
  EXPECT_FALSE(inside("d", "d/e"));
  EXPECT_FALSE(inside("link/../..", "d"));
  EXPECT_TRUE(Value(IsInside(*files_, directory_.path(), "/")));
}

TEST_F(PosixFileSystem, ListsThroughTheInterface) {
  directory_.Put("b", "");
  directory_.Put("a", "");
  EXPECT_EQ(Value(files_->ListDirectory(directory_.path())),
            (std::vector<DirectoryEntry>{{"a", FileType::kRegular}, {"b", FileType::kRegular}}));
}

}  // namespace
}  // namespace dcpctl::io
