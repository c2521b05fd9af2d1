#include "io/list_directory.h"

#include <gtest/gtest.h>

#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::Value;
using Entries = std::vector<DirectoryEntry>;

class ListDirectory : public testing::Test {
 protected:
  Entries List(const ListOptions& options) { return Value(ListPosixDirectory(calls_, directory_.path(), options)); }

  test::TempDirectory directory_;
  test::FaultyCalls calls_;
};

TEST_F(ListDirectory, IsSortedAndTyped) {
  directory_.Put("b", "");
  directory_.Put("a/inner", "");
  directory_.Put(".metadata", "");
  std::filesystem::create_symlink("b", directory_ / "link");
  EXPECT_EQ(List({}), (Entries{{".metadata", FileType::kRegular},
                               {"a", FileType::kDirectory},
                               {"b", FileType::kRegular},
                               {"link", FileType::kSymlink}}));
}

TEST_F(ListDirectory, EmptyIsEmpty) { EXPECT_EQ(List({.recursive = true}), Entries{}); }

TEST_F(ListDirectory, RecursesWithoutFollowingLinks) {
  directory_.Put("a/b/c", "");
  directory_.Put("a.x", "");
  std::filesystem::create_directory_symlink("..", directory_ / "a/up");
  EXPECT_EQ(List({.recursive = true}), (Entries{{"a", FileType::kDirectory},
                                                {"a.x", FileType::kRegular},
                                                {"a/b", FileType::kDirectory},
                                                {"a/b/c", FileType::kRegular},
                                                {"a/up", FileType::kSymlink}}));
  EXPECT_EQ(calls_.Count("OpenAt"), 3u);
}

TEST_F(ListDirectory, CountsAgainstTheLimit) {
  for (const char* const name : {"1", "2", "d/3"}) directory_.Put(name, "");
  EXPECT_EQ(List({.recursive = true, .limit = 4}).size(), 4u);
  const Error error = ErrorOf(ListPosixDirectory(calls_, directory_.path(), {.recursive = true, .limit = 3}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_EQ(error.message(), "holds more than 3 files and directories");
}

TEST_F(ListDirectory, BoundsTheDepth) {
  std::filesystem::path deep;
  for (int i = 0; i < 63; ++i) deep /= "d";
  std::filesystem::create_directories(directory_.path() / deep);
  EXPECT_EQ(List({.recursive = true}).size(), 63u);
  std::filesystem::create_directories(directory_.path() / deep / "d");
  EXPECT_EQ(ErrorOf(ListPosixDirectory(calls_, directory_.path(), {.recursive = true})).kind(), ErrorKind::kLimit);
}

TEST_F(ListDirectory, NamesWhatCannotBeOpened) {
  EXPECT_EQ(ErrorOf(ListPosixDirectory(calls_, directory_ / "no", {})).kind(), ErrorKind::kNotFound);
  directory_.Put("file", "");
  EXPECT_EQ(ErrorOf(ListPosixDirectory(calls_, directory_ / "file", {})).kind(), ErrorKind::kNotFound);
  directory_.Put("a/b", "");
  calls_.FailCall("OpenAt", EACCES, calls_.Count("OpenAt") + 1);
  const Error error = ErrorOf(ListPosixDirectory(calls_, directory_.path(), {.recursive = true}));
  EXPECT_EQ(error.ToString(), (directory_ / "a").string() + ": error: cannot open: Permission denied");
}

}  // namespace
}  // namespace dcpctl::io
