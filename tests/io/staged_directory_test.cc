#include "io/staged_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "support/faulty_calls.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::Value;
using ::testing::StartsWith;
using Names = std::set<std::string>;

void Write(FileSystem& files, const fs::path& path, std::string_view bytes) {
  const auto file = Value(files.CreateTemp(path));
  Value(file->WriteAt(0, test::BytesOf(bytes)));
  Value(file->Commit(false));
}

// On a real disk.
class StagedDirectoryTest : public testing::Test {
 protected:
  StagedDirectory Stage(const std::string& name = "ckpt") {
    StagedDirectory staged = Value(StagedDirectory::Make(*files_, folder_ / name));
    Write(*files_, staged.path() / "data", "new");
    Write(*files_, staged.path() / ".metadata", "m");
    return staged;
  }
  void PutOld() {
    folder_.Put("ckpt/data", "old");
    folder_.Put("ckpt/other/deep/file", "old");
  }
  void ExpectNew() {
    EXPECT_EQ(folder_.Names(), Names{"ckpt"});
    EXPECT_EQ(folder_.Contents("ckpt/data"), "new");
    EXPECT_EQ(folder_.Contents("ckpt/.metadata"), "m");
    EXPECT_FALSE(fs::exists(folder_ / "ckpt/other"));
  }

  test::TempDirectory folder_;
  std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(StagedDirectoryTest, AppearsWhole) {
  StagedDirectory staged = Stage();
  EXPECT_FALSE(fs::exists(folder_ / "ckpt"));
  EXPECT_EQ(staged.path().parent_path(), folder_.path());
  EXPECT_THAT(staged.path().filename().string(), StartsWith(".ckpt."));
  Value(staged.Commit(false));
  ExpectNew();
}

TEST_F(StagedDirectoryTest, StaysAfterItsEnd) {
  {
    StagedDirectory staged = Stage();
    Value(staged.Commit(false));
  }
  ExpectNew();
}

TEST_F(StagedDirectoryTest, IsRemovedWhenItIsNotCommitted) {
  {
    const StagedDirectory staged = Stage();
    fs::create_directories(staged.path() / "sub/deep");
    fs::create_symlink("/", staged.path() / "sub/link");
  }
  EXPECT_EQ(folder_.Names(), Names{});
}

TEST_F(StagedDirectoryTest, IsRemovedOnceAfterAMove) {
  std::optional<StagedDirectory> kept;
  {
    StagedDirectory staged = Stage();
    kept.emplace(std::move(staged));
  }
  EXPECT_TRUE(fs::exists(kept->path() / "data"));
  Value(kept->Commit(false));
  ExpectNew();
}

TEST_F(StagedDirectoryTest, TakesANameWithASlash) {
  StagedDirectory staged = Stage("ckpt/");
  Value(staged.Commit(false));
  ExpectNew();
}

TEST_F(StagedDirectoryTest, TakesANameInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  StagedDirectory staged = Value(StagedDirectory::Make(*files_, "ckpt"));
  EXPECT_TRUE(fs::exists(folder_.path() / staged.path()));
  Value(staged.Commit(false));
  fs::current_path(before);
  EXPECT_EQ(folder_.Names(), Names{"ckpt"});
}

TEST_F(StagedDirectoryTest, NeedsAFolder) {
  EXPECT_EQ(ErrorOf(StagedDirectory::Make(*files_, folder_ / "nowhere/ckpt")).kind(), ErrorKind::kNotFound);
}

TEST_F(StagedDirectoryTest, ReplacesAnEmptyDirectory) {
  for (const bool replace : {false, true}) {
    fs::remove_all(folder_ / "ckpt");
    fs::create_directory(folder_ / "ckpt");
    StagedDirectory staged = Stage();
    Value(staged.Commit(replace));
    ExpectNew();
  }
}

TEST_F(StagedDirectoryTest, LeavesAFullDirectory) {
  PutOld();
  {
    StagedDirectory staged = Stage();
    const Error error = ErrorOf(staged.Commit(false));
    EXPECT_EQ(error.kind(), ErrorKind::kExists);
    EXPECT_EQ(error.place().file, (folder_ / "ckpt").string());
  }
  EXPECT_EQ(folder_.Names(), Names{"ckpt"});
  EXPECT_EQ(folder_.Contents("ckpt/data"), "old");
  EXPECT_EQ(folder_.Contents("ckpt/other/deep/file"), "old");
}

TEST_F(StagedDirectoryTest, ReplacesAFullDirectoryWhenTold) {
  PutOld();
  StagedDirectory staged = Stage();
  Value(staged.Commit(true));
  ExpectNew();
}

TEST_F(StagedDirectoryTest, ReplacesAFullDirectoryWhereNamesCannotBeExchanged) {
  for (const int err : {EINVAL, ENOSYS}) {
    fs::remove_all(folder_ / "ckpt");
    PutOld();
    test::FaultyCalls calls;
    files_ = NewPosixFileSystem(&calls);
    StagedDirectory staged = Stage();
    calls.FailCall("RenameAt2", err, calls.Count("RenameAt2") + 2);  // after two that are refused
    Value(staged.Commit(true));
    EXPECT_EQ(calls.Count("RenameAt2"), 7U) << "two files, two refused, the exchange, and one each";
    ExpectNew();
    files_ = NewPosixFileSystem();
  }
}

// Nothing is lost by it, but there is something that nobody would look for.
TEST_F(StagedDirectoryTest, SaysWhereWhatItReplacedIsLeft) {
  PutOld();
  test::FaultyCalls calls;
  files_ = NewPosixFileSystem(&calls);
  StagedDirectory staged = Stage();
  calls.FailCall("UnlinkAt", EIO, calls.Count("UnlinkAt") + 2);  // after the one that finds a directory
  const std::optional<Leftover> leftover = Value(staged.Commit(true));
  ASSERT_TRUE(leftover);
  EXPECT_EQ(leftover->path, staged.path());
  EXPECT_EQ(leftover->why.kind(), ErrorKind::kIo);
  EXPECT_EQ(folder_.Contents("ckpt/data"), "new");
  EXPECT_TRUE(fs::exists(leftover->path / "other/deep/file"));
  files_ = NewPosixFileSystem();
}

// The link goes, what it leads to stays.
TEST_F(StagedDirectoryTest, ReplacesALinkAndNotWhatItLeadsTo) {
  folder_.Put("real/data", "old");
  fs::create_directory_symlink("real", folder_ / "ckpt");
  StagedDirectory staged = Stage();
  Value(staged.Commit(true));
  EXPECT_EQ(folder_.Names(), (Names{"ckpt", "real"}));
  EXPECT_FALSE(fs::is_symlink(folder_ / "ckpt"));
  EXPECT_EQ(folder_.Contents("ckpt/data"), "new");
  EXPECT_EQ(folder_.Contents("real/data"), "old");
}

TEST_F(StagedDirectoryTest, LeavesAFile) {
  folder_.Put("ckpt", "file");
  {
    StagedDirectory staged = Stage();
    EXPECT_EQ(ErrorOf(staged.Commit(false)).kind(), ErrorKind::kExists);
  }
  EXPECT_EQ(folder_.Names(), Names{"ckpt"});
  EXPECT_EQ(folder_.Contents("ckpt"), "file");
}

TEST_F(StagedDirectoryTest, RemovesATreeWithoutFollowingLinks) {
  folder_.Put("kept/file", "kept");
  folder_.Put("tree/a/b/c", "c");
  fs::create_directory_symlink("../kept", folder_ / "tree/link");
  Value(RemoveTree(*files_, folder_ / "tree"));
  EXPECT_EQ(folder_.Names(), Names{"kept"});
  EXPECT_EQ(folder_.Contents("kept/file"), "kept");
  EXPECT_EQ(ErrorOf(RemoveTree(*files_, folder_ / "nothing")).kind(), ErrorKind::kNotFound);
}

TEST(RemoveTree, LeavesNoMetadataWithoutItsFiles) {
  const std::set<std::string> all = {".metadata", "__0_0.distcp", "sub/__1_0.distcp"};
  for (const bool dies : {false, true}) {
    for (uint64_t call = 0; call < 8; ++call) {
      test::MemoryFileSystem files;
      for (const std::string& name : all) files.Put("/ckpt/" + name, "x");
      files.SetFaults(dies ? test::MemoryFaults{.stop_call = call} : test::MemoryFaults{.fail_call = call});
      (void)RemoveTree(files, "/ckpt").has_value();
      SCOPED_TRACE((dies ? "dies at " : "fails at ") + std::to_string(call));
      const auto left = files.Paths();
      EXPECT_TRUE(left.size() == all.size() || !files.Contents("/ckpt/.metadata")) << left.size();
      EXPECT_EQ(left.empty(), call > 4 || (!dies && call == 0)) << "itself as a file, a listing, three files";
    }
  }
}

// The last: where names cannot be exchanged.
enum class Before : uint8_t { kNothing, kEmpty, kFull, kFullInSteps };

test::MemoryFaults WithExchange(test::MemoryFaults faults, Before before) {
  faults.can_exchange = before != Before::kFullInSteps;
  return faults;
}

// In memory, where each call can fail.
class StagedDirectoryFaults : public testing::TestWithParam<Before> {
 protected:
  static Result<std::optional<Leftover>> Run(test::MemoryFileSystem& files) {
    auto staged = StagedDirectory::Make(files, "/out/ckpt");
    if (!staged) return Fail(std::move(staged).error());
    for (const char* name : {"data", ".metadata"}) {
      auto file = files.CreateTemp(staged->path() / name);
      if (!file) return Fail(std::move(file).error());
      if (auto written = (*file)->WriteAt(0, test::BytesOf("new")); !written) return Fail(std::move(written).error());
      if (auto committed = (*file)->Commit(false); !committed) return Fail(std::move(committed).error());
    }
    return staged->Commit(IsFull());
  }
  static bool IsFull() { return GetParam() == Before::kFull || GetParam() == Before::kFullInSteps; }

  static std::unique_ptr<test::MemoryFileSystem> NewFiles() {
    auto files = std::make_unique<test::MemoryFileSystem>();
    files->PutDirectory("/out");
    if (GetParam() == Before::kEmpty) files->PutDirectory("/out/ckpt");
    if (IsFull()) files->Put("/out/ckpt/old", "old");
    files->SetFaults(WithExchange({}, GetParam()));
    return files;
  }

  static bool IsNew(test::MemoryFileSystem& files) {
    return files.Contents("/out/ckpt/data") == "new" && files.Contents("/out/ckpt/.metadata") == "new" &&
           !files.Contents("/out/ckpt/old");
  }
  static bool IsOld(test::MemoryFileSystem& files) {
    const auto listing = files.ListDirectory("/out/ckpt", {});
    if (GetParam() == Before::kNothing) return !listing;
    if (GetParam() == Before::kEmpty) return listing && listing->empty();
    return files.Contents("/out/ckpt/old") == "old" && listing && listing->size() == 1;
  }

  static size_t Calls() {
    const auto files = NewFiles();
    Value(Run(*files));
    return files->calls().size();
  }
};

TEST_P(StagedDirectoryFaults, LeaveTheOldOrTheNew) {
  const size_t calls = Calls();
  ASSERT_GT(calls, 8U);
  for (size_t call = 0; call < calls; ++call) {
    const auto files = NewFiles();
    files->SetFaults(WithExchange({.fail_call = call}, GetParam()));
    const auto result = Run(*files);
    const std::string failed = files->calls().at(call);
    SCOPED_TRACE("call " + std::to_string(call) + ": " + failed);
    files->SetFaults({});
    EXPECT_TRUE(IsNew(*files) || (!result && IsOld(*files)));
    const auto left = Value(files->ListDirectory("/out", {}));
    const bool keeps_both = IsFull() && failed == "sync directory /out";
    if (result) {
      EXPECT_EQ(left.size(), result->has_value() ? 2U : 1U) << "what is left is told of";
    } else {
      EXPECT_LE(left.size(), keeps_both ? 2U : 1U);
    }
  }
}

// Where names cannot be exchanged, a replaced directory is under neither of two for a moment, but it is there.
TEST_P(StagedDirectoryFaults, DeathLosesNothing) {
  const size_t calls = Calls();
  for (size_t call = 0; call <= calls; ++call) {
    for (uint32_t seed = 0; seed < 5; ++seed) {
      const auto files = NewFiles();
      files->SetFaults(WithExchange({.stop_call = call}, GetParam()));
      (void)Run(*files).has_value();
      SCOPED_TRACE("call " + std::to_string(call) + ", seed " + std::to_string(seed));
      if (seed > 0) {
        files->Crash(seed);
      } else {
        files->SetFaults({});
      }
      if (IsNew(*files) || IsOld(*files)) continue;
      ASSERT_EQ(GetParam(), Before::kFullInSteps);
      EXPECT_FALSE(files->ListDirectory("/out/ckpt", {}));
      size_t copies = 0;
      for (const std::string& path : files->Paths()) copies += path.ends_with("/old") || path.ends_with("/data");
      EXPECT_GE(copies, 1U);
    }
  }
}

// Nobody knows then which of the two names is on the disk, so that neither may lose its files.
TEST_P(StagedDirectoryFaults, PowerLossAfterAFailedSyncLeavesTheOldOrTheNew) {
  const auto listing = NewFiles();
  Value(Run(*listing));
  size_t sync = 0;
  while (listing->calls().at(sync) != "sync directory /out") ++sync;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto files = NewFiles();
    files->SetFaults(WithExchange({.fail_call = sync}, GetParam()));
    const Error error = ErrorOf(Run(*files));
    EXPECT_EQ(error.place().file, "/out");
    EXPECT_EQ(error.Text().find("what it replaced is now \"/out/.ckpt.") != std::string::npos, IsFull())
        << error.Text();
    files->Crash(seed);
    EXPECT_TRUE(IsNew(*files) || IsOld(*files) || GetParam() == Before::kFullInSteps) << seed;
  }
}

TEST_P(StagedDirectoryFaults, SuccessIsDurable) {
  const auto files = NewFiles();
  Value(Run(*files));
  files->Crash();
  EXPECT_TRUE(IsNew(*files));
}

std::string NameOf(const testing::TestParamInfo<Before>& info) {
  switch (info.param) {
    case Before::kNothing: return "Nothing";
    case Before::kEmpty: return "EmptyOne";
    case Before::kFull: return "FullOne";
    case Before::kFullInSteps: return "FullOneInSteps";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(All, StagedDirectoryFaults,
                         testing::Values(Before::kNothing, Before::kEmpty, Before::kFull, Before::kFullInSteps),
                         NameOf);

}  // namespace
}  // namespace dcpctl::io
