#include "io/open_beneath.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "io/file_system.h"
#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::ReadAll;
using test::Value;

// The parameter is the errno by which openat2 is taken away; 0 leaves it there.
class OpenBeneath : public testing::TestWithParam<int> {
 protected:
  OpenBeneath() {
    directory_.Put("secret", "secret");
    directory_.Put("root/a", "data of a");
    directory_.Put("root/sub/deep/b", "data of b");
    directory_.Put("root/..c", "data of c");
    if (GetParam() != 0) calls_.FailCall("OpenAt2", GetParam(), 0, test::FaultyCalls::kAlways);
    ::alarm(60);  // nothing here may block
  }
  ~OpenBeneath() override {
    ::alarm(0);
    EXPECT_EQ(calls_.OpenDescriptors(), 0);
  }

  void Link(const std::string& to, const std::string& name) {
    std::filesystem::create_symlink(to, directory_ / ("root/" + name));
  }
  Result<std::unique_ptr<ReadFile>> Open(std::string_view name) {
    return files_->OpenBeneath(directory_ / "root", name);
  }
  // Some containers lack openat2 all the time.
  bool has_openat2() const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    const UniqueFd probe(KernelCalls(), KernelCalls().OpenAt2(AT_FDCWD, "/", how));
    return GetParam() == 0 && probe;
  }

  test::TempDirectory directory_;
  test::FaultyCalls calls_;
  std::unique_ptr<FileSystem> files_ = NewPosixFileSystem(&calls_);
};

TEST_P(OpenBeneath, OpensFilesBelow) {
  EXPECT_EQ(ReadAll(*Value(Open("a"))), "data of a");
  EXPECT_EQ(ReadAll(*Value(Open("sub/deep/b"))), "data of b");
  EXPECT_EQ(ReadAll(*Value(Open("./sub//deep/./b"))), "data of b");
  EXPECT_EQ(ReadAll(*Value(Open("..c"))), "data of c");
  EXPECT_EQ(Value(Open("sub/deep/b"))->name(), (directory_ / "root/sub/deep/b").string());
  EXPECT_TRUE(Value(Open("sub/deep/b"))->CheckUnchanged());
}

TEST_P(OpenBeneath, RefusesNamesThatLeadOutOrMeanNothing) {
  using namespace std::string_view_literals;
  for (const std::string_view name :
       {""sv, "/etc/passwd"sv, "/"sv, ".."sv, "../secret"sv, "sub/../a"sv, "sub/.."sv, "a/"sv, "sub/"sv, "a\0b"sv,
        "\0"sv, "a\nb"sv, "\x1b[31ma"sv, "a\x7f"sv, "./../secret"sv}) {
    const Error error = ErrorOf(Open(name));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt) << error.ToString();
    EXPECT_EQ(error.place().file, (directory_ / "root").string());
  }
  EXPECT_EQ(calls_.Total(), 0u) << "refused before anything was opened";
}

TEST_P(OpenBeneath, NamesWhatIsMissing) {
  for (const std::string_view name : {"no", "no/a", "a/b", "sub/no"}) {
    const Error error = ErrorOf(Open(name));
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound) << error.ToString();
    EXPECT_EQ(error.place().file, (directory_ / "root" / name).string());
  }
  EXPECT_EQ(ErrorOf(files_->OpenBeneath(directory_ / "nowhere", "a")).place().file, (directory_ / "nowhere").string());
}

TEST_P(OpenBeneath, RefusesLinksThatLeadOut) {
  Link("../secret", "up");
  Link((directory_ / "secret").string(), "absolute");
  Link((directory_ / "root/a").string(), "absolute-but-inside");
  Link("..", "parent");
  Link("/proc/self/cwd", "magic");
  for (const std::string_view name : {"up", "absolute", "absolute-but-inside", "parent/secret", "magic/a"}) {
    const Error error = ErrorOf(Open(name));
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.ToString();
    EXPECT_NE(error.message().find("symbolic link"), std::string::npos) << error.message();
  }
}

TEST_P(OpenBeneath, FollowsLinksThatStayOnlyWhereTheKernelWatches) {
  Link("sub/deep/b", "inside");
  Link("deep", "sub/back");
  for (const std::string_view name : {"inside", "sub/back/b"}) {
    auto opened = Open(name);
    if (has_openat2()) {
      EXPECT_EQ(ReadAll(*Value(std::move(opened))), "data of b");
    } else {
      EXPECT_EQ(ErrorOf(std::move(opened)).kind(), ErrorKind::kUnsupported);
    }
  }
}

TEST_P(OpenBeneath, RefusesLinkLoops) {
  Link("loop", "loop");
  EXPECT_EQ(ErrorOf(Open("loop")).kind(), ErrorKind::kUnsupported);
}

TEST_P(OpenBeneath, RefusesWhatIsNotARegularFile) {
  ASSERT_EQ(::mkfifo((directory_ / "root/fifo").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(Open("fifo")).message(), "is a FIFO, expected a regular file");
  EXPECT_EQ(ErrorOf(Open("sub")).message(), "is a directory, expected a regular file");
  EXPECT_EQ(ErrorOf(Open("sub")).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(files_->OpenBeneath("/dev", "null")).message(), "is a character device, expected a regular file");
}

TEST_P(OpenBeneath, RefusesSockets) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (directory_ / "root/socket").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(ErrorOf(Open("socket")).kind(), ErrorKind::kUnsupported);
  ::close(fd);
}

INSTANTIATE_TEST_SUITE_P(EachWay, OpenBeneath, testing::Values(0, ENOSYS, EPERM), [](const auto& way) {
  return way.param == 0 ? "OpenAt2" : way.param == ENOSYS ? "WalkSinceMissing" : "WalkSinceForbidden";
});

TEST(OpenFdBeneath, TriesAgainWhenSomethingWasRenamedMeanwhile) {
  const test::TempDirectory directory;
  directory.Put("a", "data");
  test::FaultyCalls calls;
  calls.FailCall("OpenAt2", EAGAIN, 0, 3);
  EXPECT_TRUE(OpenFdBeneath(calls, directory.path(), "a"));
  EXPECT_EQ(calls.Count("OpenAt2"), 4u);
}

TEST(OpenFdBeneath, GivesUpAfterManyTries) {
  const test::TempDirectory directory;
  directory.Put("a", "data");
  test::FaultyCalls calls;
  calls.FailCall("OpenAt2", EAGAIN, 0, test::FaultyCalls::kAlways);
  EXPECT_EQ(ErrorOf(OpenFdBeneath(calls, directory.path(), "a")).kind(), ErrorKind::kIo);
}

TEST(OpenFdBeneath, DoesNotWalkAfterAnErrorOfTheDevice) {
  const test::TempDirectory directory;
  directory.Put("a", "data");
  test::FaultyCalls calls;
  calls.FailCall("OpenAt2", EIO);
  EXPECT_EQ(ErrorOf(OpenFdBeneath(calls, directory.path(), "a")).kind(), ErrorKind::kIo);
  EXPECT_EQ(calls.Count("OpenAt"), 1u) << "the directory only";
}

}  // namespace
}  // namespace dcpctl::io
