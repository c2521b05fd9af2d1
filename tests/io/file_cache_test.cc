#include "io/file_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::ReadAll;
using test::Value;

class FileCacheTest : public testing::Test {
 protected:
  FileCacheTest() {
    for (const char* const name : {"a", "b", "c"}) files_.Put(std::string("/d/") + name, name);
    files_.SetFaults({});
  }
  std::vector<CachedPath> Paths() { return {{"/d", "a"}, {"/d", "b"}, {"/d/c", ""}}; }
  long Opened(const std::string& path) {
    const auto calls = files_.calls();
    return std::count(calls.begin(), calls.end(), "open " + path);
  }

  test::MemoryFileSystem files_;
};

TEST_F(FileCacheTest, OpensOnFirstUseAndOnce) {
  FileCache cache(files_, Paths());
  EXPECT_EQ(files_.calls().size(), 0u);
  EXPECT_EQ(ReadAll(*Value(cache.Open(2))), "c");
  EXPECT_EQ(ReadAll(*Value(cache.Open(0))), "a");
  EXPECT_EQ(ReadAll(*Value(cache.Open(0))), "a");
  EXPECT_EQ(Opened("/d/a"), 1);
  EXPECT_EQ(Opened("/d/b"), 0);
}

TEST_F(FileCacheTest, ClosesTheOldestAndKeepsWhatIsHeld) {
  FileCache cache(files_, Paths(), 1);
  const auto held = Value(cache.Open(0));
  const std::weak_ptr<const ReadFile> dropped = Value(cache.Open(1));
  EXPECT_FALSE(dropped.expired());
  Value(cache.Open(2));
  EXPECT_TRUE(dropped.expired());
  EXPECT_EQ(ReadAll(*held), "a");
  Value(cache.Open(0));
  EXPECT_EQ(Opened("/d/a"), 2);
}

TEST_F(FileCacheTest, KeepsWhatIsUsedOverWhatIsNot) {
  FileCache cache(files_, Paths(), 2);
  Value(cache.Open(0));
  Value(cache.Open(1));
  Value(cache.Open(0));
  Value(cache.Open(2));  // takes the place of 1
  Value(cache.Open(0));
  EXPECT_EQ(Opened("/d/a"), 1);
  Value(cache.Open(1));
  EXPECT_EQ(Opened("/d/b"), 2);
}

TEST_F(FileCacheTest, NoticesAChangeBetweenTwoOpens) {
  FileCache cache(files_, Paths(), 1);
  Value(cache.Open(0));
  Value(cache.Open(1));
  files_.Overwrite("/d/a", "A");
  EXPECT_EQ(ErrorOf(cache.Open(0)).kind(), ErrorKind::kMismatch);
}

TEST_F(FileCacheTest, NoticesThatAFileIsNotTheOneExpected) {
  auto paths = Paths();
  const FileInfo info = Value(files_.Stat("/d/a"));
  paths[0] = {.root = "/d", .relative = "a", .known = true, .bytes = info.bytes, .mtime_ns = info.mtime_ns};
  paths[1] = {.root = "/d", .relative = "b", .known = true, .bytes = 2, .mtime_ns = info.mtime_ns};
  FileCache cache(files_, paths);
  EXPECT_TRUE(cache.Open(0));
  EXPECT_EQ(ErrorOf(cache.Open(1)).place().file, "/d/b");
}

TEST_F(FileCacheTest, ChecksAllThatWereUsedAndNoOther) {
  FileCache cache(files_, Paths(), 1);
  Value(cache.Open(0));
  Value(cache.Open(1));
  files_.Overwrite("/d/c", "C");
  EXPECT_TRUE(cache.CheckUnchanged()) << "c was never used";
  files_.Overwrite("/d/a", "A");
  EXPECT_EQ(ErrorOf(cache.CheckUnchanged()).kind(), ErrorKind::kMismatch) << "a is closed but was used";
}

TEST_F(FileCacheTest, PassesErrorsOn) {
  FileCache cache(files_, {{"/d", "no"}, {"/d", "../e"}});
  EXPECT_EQ(ErrorOf(cache.Open(0)).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorOf(cache.Open(1)).kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace dcpctl::io
