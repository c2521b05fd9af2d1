#include "check/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/memory_file_system.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::check {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

// A checkpoint directory "ckpt" and a source file "model.pt".
class Target : public testing::Test {
 protected:
  void SetUp() override {
    folder_.Put("ckpt/.metadata", "m");
    folder_.Put("ckpt/sub/__0_0.distcp", "d");
    folder_.Put("model.pt", "old");
  }

  Result<TargetKind> Check(const fs::path& source, const fs::path& target, bool force = false) {
    return CheckTarget(*files_, source, target, force);
  }
  Result<TargetKind> CheckIn(const std::string& source, const std::string& target, bool force = false) {
    return Check(folder_ / source, folder_ / target, force);
  }
  void ExpectRefused(const std::string& source, const std::string& target, bool force, ErrorKind kind,
                     const std::string& text) {
    const Error error = ErrorOf(CheckIn(source, target, force));
    EXPECT_EQ(error.kind(), kind) << error.ToString();
    EXPECT_THAT(error.ToString(), HasSubstr(text));
  }

  test::TempDirectory folder_;
  std::unique_ptr<io::FileSystem> files_ = io::NewPosixFileSystem();
};

TEST_F(Target, MayBeANewFile) {
  EXPECT_EQ(Value(CheckIn("ckpt", "new.pt")), TargetKind::kFile);
  EXPECT_EQ(Value(CheckIn("ckpt", "new.pt", true)), TargetKind::kFile);
  EXPECT_EQ(Value(Check(folder_ / "ckpt", "new-in-the-current-folder.pt")), TargetKind::kFile);
}

TEST_F(Target, MayBeNewMetadataBesideTheData) {
  const auto check = [&](const std::string& target, bool force = false) {
    return CheckMetadataTarget(*files_, folder_ / "ckpt", folder_ / target, force);
  };
  EXPECT_EQ(Value(check("ckpt/new.metadata")), TargetKind::kFile);
  EXPECT_EQ(Value(check("elsewhere")), TargetKind::kFile);
  EXPECT_EQ(Value(CheckMetadataTarget(*files_, folder_ / "ckpt", "-", false)), TargetKind::kStandardOutput);
  EXPECT_EQ(Value(check("model.pt", true)), TargetKind::kFile);
  for (const bool force : {false, true}) {
    const Error error = ErrorOf(check("ckpt/.metadata", force));
    EXPECT_EQ(error.kind(), ErrorKind::kExists);
    EXPECT_THAT(error.ToString(), HasSubstr("never changed"));
  }
}

TEST_F(Target, MayBeAStream) {
  EXPECT_EQ(Value(Check(folder_ / "ckpt", "-")), TargetKind::kStandardOutput);
  EXPECT_EQ(Value(Check(folder_ / "ckpt", "/dev/null")), TargetKind::kStream);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(Value(CheckIn("ckpt", "fifo")), TargetKind::kStream);
}

TEST_F(Target, IsReplacedOnlyWhenForced) {
  ExpectRefused("ckpt", "model.pt", false, ErrorKind::kExists, "already exists (use --force to replace it)");
  EXPECT_EQ(Value(CheckIn("ckpt", "model.pt", true)), TargetKind::kFile);
}

TEST_F(Target, IsNeverTheSource) {  // C93
  ExpectRefused("model.pt", "model.pt", true, ErrorKind::kUsage, "is the source");
  ExpectRefused("model.pt", "ckpt/../model.pt", true, ErrorKind::kUsage, "is the source");
  ExpectRefused("ckpt", "ckpt", true, ErrorKind::kUsage, "is the source");
}

TEST_F(Target, IsNoLinkToTheSource) {  // C93
  fs::create_hard_link(folder_ / "model.pt", folder_ / "hard.pt");
  ExpectRefused("model.pt", "hard.pt", true, ErrorKind::kUsage, "is the source");
  fs::create_symlink("model.pt", folder_ / "soft.pt");
  ExpectRefused("model.pt", "soft.pt", true, ErrorKind::kUsage, "is the source");
  ExpectRefused("soft.pt", "model.pt", true, ErrorKind::kUsage, "is the source");
}

TEST_F(Target, IsNotInTheSource) {  // C93
  ExpectRefused("ckpt", "ckpt/out.pt", false, ErrorKind::kUsage, "lies in the source");
  ExpectRefused("ckpt", "ckpt/sub/__0_0.distcp", true, ErrorKind::kUsage, "lies in the source");
  fs::create_directory_symlink("ckpt", folder_ / "link");
  ExpectRefused("ckpt", "link/out.pt", false, ErrorKind::kUsage, "lies in the source");
  ExpectRefused("link", "ckpt/out.pt", false, ErrorKind::kUsage, "lies in the source");
}

TEST_F(Target, BesideTheSourceIsNotInIt) { EXPECT_EQ(Value(CheckIn("ckpt", "ckpt.pt")), TargetKind::kFile); }

// Replacing a file of the checkpoint through another name of it would destroy the source just as well.
TEST_F(Target, IsNoOtherNameOfAFileInTheSource) {
  fs::create_symlink("ckpt/.metadata", folder_ / "soft.pt");
  ExpectRefused("ckpt", "soft.pt", true, ErrorKind::kUsage, "lies in the source");
}

TEST_F(Target, NeedsAFolder) {
  ExpectRefused("ckpt", "nowhere/out.pt", false, ErrorKind::kNotFound, "folder of the target");
  ExpectRefused("ckpt", "model.pt/out.pt", false, ErrorKind::kNotFound, "is a regular file, expected a folder");
}

TEST_F(Target, IsAFileNameAndNoDirectory) {
  fs::create_directory(folder_ / "dir");
  ExpectRefused("ckpt", "dir", true, ErrorKind::kExists, "is a directory, expected a file or nothing");
  ExpectRefused("ckpt", "dir/", true, ErrorKind::kUsage, "is no file name");
  EXPECT_EQ(ErrorOf(Check(folder_ / "ckpt", "")).kind(), ErrorKind::kUsage);
}

TEST_F(Target, MayReplaceADanglingLink) {
  fs::create_symlink("gone", folder_ / "dangling.pt");
  const auto kind = CheckIn("ckpt", "dangling.pt", true);
  ASSERT_TRUE(kind) << kind.error().ToString();
  EXPECT_EQ(*kind, TargetKind::kFile);
}

// A checkpoint directory "ckpt", a source file "model.pt" and folders to write to.
class DirectoryTarget : public Target {
 protected:
  Result<void> CheckDirectory(const std::string& source, const std::string& target, bool force = false) {
    return CheckDirectoryTarget(*files_, folder_ / source, folder_ / target, force);
  }
  void ExpectAccepted(const std::string& source, const std::string& target, bool force = false) {
    const auto checked = CheckDirectory(source, target, force);
    EXPECT_TRUE(checked) << checked.error().ToString();
  }
  void ExpectNot(const std::string& source, const std::string& target, bool force, ErrorKind kind,
                 const std::string& text) {
    const Error error = ErrorOf(CheckDirectory(source, target, force));
    EXPECT_EQ(error.kind(), kind) << error.ToString();
    EXPECT_THAT(error.ToString(), HasSubstr(text));
  }
};

TEST_F(DirectoryTarget, MayBeNewOrEmpty) {
  fs::create_directory(folder_ / "empty");
  for (const bool force : {false, true}) {
    ExpectAccepted("model.pt", "new", force);
    ExpectAccepted("model.pt", "new/", force);
    ExpectAccepted("model.pt", "empty", force);
    ExpectAccepted("model.pt", "empty/", force);
  }
  EXPECT_TRUE(CheckDirectoryTarget(*files_, folder_ / "model.pt", "new-in-the-current-folder", false));
}

TEST_F(DirectoryTarget, IsReplacedOnlyWhenForced) {
  folder_.Put("old/.metadata", "m");
  folder_.Put("old/__0_0.distcp", "d");
  ExpectNot("model.pt", "old", false, ErrorKind::kExists, "already exists (use --force to replace it)");
  ExpectNot("model.pt", "old/", false, ErrorKind::kExists, "already exists");
  ExpectAccepted("model.pt", "old", true);
}

TEST_F(DirectoryTarget, MayReplaceWhatIsLeftOfACheckpoint) {
  folder_.Put("old/.metadata.tmp", "m");
  folder_.Put("old/__12_3.distcp", "d");
  folder_.Put("old/__1.metadata", "m");
  ExpectAccepted("model.pt", "old", true);
}

TEST_F(DirectoryTarget, IsNeverReplacedWhenItHoldsMore) {
  for (const char* name : {"notes.txt", ".git/config", "model.safetensors", "metadata"}) {
    fs::remove_all(folder_ / "old");
    folder_.Put("old/.metadata", "m");
    folder_.Put(std::string("old/") + name, "x");
    ExpectNot("model.pt", "old", true, ErrorKind::kExists, "is no part of a DCP checkpoint");
  }
  const Error error = ErrorOf(CheckDirectory("model.pt", "old", true));
  EXPECT_EQ(error.place().file, (folder_ / "old/metadata").string());
}

// A folder of this name would be removed with all that is in it.
TEST_F(DirectoryTarget, IsNotReplacedForTheNamesOfItsFolders) {
  folder_.Put("old/mine.distcp/thesis.tex", "x");
  ExpectNot("model.pt", "old", true, ErrorKind::kExists, "is no part of a DCP checkpoint");
}

TEST_F(DirectoryTarget, IsNoFile) {
  folder_.Put("file", "x");
  for (const bool force : {false, true})
    ExpectNot("model.pt", "file", force, ErrorKind::kExists, "is a regular file, expected a directory or nothing");
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  ExpectNot("model.pt", "fifo", true, ErrorKind::kExists, "is a FIFO");
}

TEST_F(DirectoryTarget, IsNeverTheSource) {  // C93
  ExpectNot("model.pt", "model.pt", true, ErrorKind::kUsage, "is the source");
  ExpectNot("ckpt", "ckpt", true, ErrorKind::kUsage, "is the source");
  ExpectNot("ckpt", "ckpt/", true, ErrorKind::kUsage, "is the source");
  fs::create_directory_symlink("ckpt", folder_ / "link");
  ExpectNot("ckpt", "link", true, ErrorKind::kUsage, "is the source");
  ExpectNot("link", "ckpt", true, ErrorKind::kUsage, "is the source");
}

TEST_F(DirectoryTarget, IsNotInTheSource) {  // C93
  ExpectNot("ckpt", "ckpt/new", false, ErrorKind::kUsage, "lies in the source");
  ExpectNot("ckpt", "ckpt/sub", true, ErrorKind::kUsage, "lies in the source");
}

// Replacing it would remove the source.
TEST_F(DirectoryTarget, DoesNotHoldTheSource) {  // C93
  folder_.Put("around/inner/.metadata", "m");
  ExpectNot("around/inner", "around", true, ErrorKind::kUsage, "holds the source");
  folder_.Put("around/model.distcp", "x");
  ExpectNot("around/model.distcp", "around", true, ErrorKind::kUsage, "holds the source");
}

TEST_F(DirectoryTarget, NeedsAFolderAndAName) {
  ExpectNot("model.pt", "nowhere/new", false, ErrorKind::kNotFound, "folder of the target");
  ExpectNot("ckpt", "model.pt/new", false, ErrorKind::kNotFound, "is a regular file, expected a folder");
  for (const char* target : {"", ".", "..", "./", "ckpt/.."})
    EXPECT_EQ(ErrorOf(CheckDirectoryTarget(*files_, folder_ / "model.pt", target, true)).kind(), ErrorKind::kUsage)
        << target;
}

TEST(Space, MustBeThere) {  // C91
  test::MemoryFileSystem files;
  files.PutDirectory("/out");
  files.SetFaults({.space = 1000});
  EXPECT_TRUE(CheckSpace(files, "/out/model.pt", 1000));
  const Error error = ErrorOf(CheckSpace(files, "/out/model.pt", 1001));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(error.ToString(),
            "/out/model.pt: error: no space: 1000 bytes are free, expected the 1001 that the result has");
}

}  // namespace
}  // namespace dcpctl::check
