#include "io/publish.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::ErrorOf;
using test::Value;
using Names = std::set<std::string>;

class Publish : public testing::Test {
 protected:
  Result<void> RenameNewTo(const std::string& from, const std::string& to) {
    const std::string source = directory_ / from;
    const std::string target = directory_ / to;
    return RenameNew(calls_, {AT_FDCWD, source}, {AT_FDCWD, target}, target);
  }
  UniqueFd OpenDirectory() {
    return {KernelCalls(), KernelCalls().OpenAt(AT_FDCWD, directory_.path().c_str(), O_RDONLY | O_DIRECTORY, 0)};
  }

  test::TempDirectory directory_;
  test::FaultyCalls calls_;
};

TEST_F(Publish, FreshFilesHaveNamesOfTheirOwn) {
  const UniqueFd directory = OpenDirectory();
  Names names;
  for (int i = 0; i < 50; ++i) names.insert(Value(CreateFresh(calls_, directory.get(), "a", 0600, "a")).name);
  EXPECT_EQ(names.size(), 50u);
  EXPECT_EQ(directory_.Names(), names);
}

TEST_F(Publish, FreshFileTriesAnotherNameWhenOneIsTaken) {
  const UniqueFd directory = OpenDirectory();
  calls_.FailCall("OpenAt", EEXIST, 0, 5);
  EXPECT_TRUE(CreateFresh(calls_, directory.get(), "a", 0600, "a"));
  EXPECT_EQ(calls_.Count("OpenAt"), 6u);
  calls_.FailCall("OpenAt", EEXIST, 0, test::FaultyCalls::kAlways);
  EXPECT_EQ(ErrorOf(CreateFresh(calls_, directory.get(), "a", 0600, "a")).kind(), ErrorKind::kIo);
}

TEST_F(Publish, FreshFileCutsLongStems) {
  const UniqueFd directory = OpenDirectory();
  EXPECT_EQ(Value(CreateFresh(calls_, directory.get(), std::string(255, 'x'), 0600, "x")).name.size(), 255u);
}

// The parameter is the errno of renameat2; 0 leaves it alone.
class PublishEachWay : public Publish, public testing::WithParamInterface<int> {
 protected:
  PublishEachWay() {
    if (GetParam() != 0) calls_.FailCall("RenameAt2", GetParam(), 0, 1);
  }
};

TEST_P(PublishEachWay, GivesAFileANewName) {
  directory_.Put("from", "data");
  Value(RenameNewTo("from", "to"));
  EXPECT_EQ(directory_.Names(), Names{"to"});
  EXPECT_EQ(directory_.Contents("to"), "data");
}

TEST_P(PublishEachWay, NeverTakesANameAway) {
  directory_.Put("from", "new");
  directory_.Put("to", "old");
  const Error error = ErrorOf(RenameNewTo("from", "to"));
  EXPECT_EQ(error.kind(), ErrorKind::kExists);
  EXPECT_EQ(error.advice(), "use --force to replace it");
  EXPECT_EQ(directory_.Contents("to"), "old");
  EXPECT_EQ(directory_.Contents("from"), "new");
}

TEST_P(PublishEachWay, GivesADirectoryANewName) {
  directory_.Put("from/a", "data");
  Value(RenameNewTo("from", "to"));
  EXPECT_EQ(directory_.Names(), Names{"to"});
  EXPECT_EQ(directory_.Contents("to/a"), "data");
}

TEST_P(PublishEachWay, NeverTakesTheNameOfAnEmptyDirectory) {
  directory_.Put("from/a", "data");
  std::filesystem::create_directory(directory_ / "to");
  EXPECT_EQ(ErrorOf(RenameNewTo("from", "to")).kind(), ErrorKind::kExists);
  EXPECT_EQ(directory_.Contents("from/a"), "data");
}

TEST_P(PublishEachWay, ReportsAMissingSource) {
  EXPECT_EQ(ErrorOf(RenameNewTo("from", "to")).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(directory_.Names(), Names{});
}

INSTANTIATE_TEST_SUITE_P(EachWay, PublishEachWay, testing::Values(0, EINVAL, ENOSYS), [](const auto& way) {
  return way.param == 0 ? "RenameAt2" : way.param == EINVAL ? "LinkSinceNotSupported" : "LinkSinceMissing";
});

TEST_F(Publish, ExchangesNames) {
  directory_.Put("a/file", "a");
  directory_.Put("b/file", "b");
  const std::string a = directory_ / "a";
  const std::string b = directory_ / "b";
  const auto exchange = [&] { return ExchangeNames(calls_, {AT_FDCWD, a}, {AT_FDCWD, b}, b); };
  EXPECT_TRUE(Value(exchange()));
  EXPECT_EQ(directory_.Contents("a/file"), "b");
  EXPECT_EQ(directory_.Contents("b/file"), "a");
  for (const int err : {EINVAL, ENOSYS}) {
    calls_.FailCall("RenameAt2", err, calls_.Count("RenameAt2"));
    EXPECT_FALSE(Value(exchange()));
  }
  calls_.FailCall("RenameAt2", EIO, calls_.Count("RenameAt2"));
  EXPECT_EQ(ErrorOf(exchange()).kind(), ErrorKind::kIo);
  EXPECT_EQ(directory_.Contents("b/file"), "a");
}

TEST_F(Publish, TakesALinkThatIsAlreadyOursForSuccess) {
  directory_.Put("from", "data");
  std::filesystem::create_hard_link(directory_ / "from", directory_ / "to");
  calls_.FailCall("RenameAt2", EINVAL);
  Value(RenameNewTo("from", "to"));
  EXPECT_EQ(directory_.Names(), Names{"to"});
}

TEST_F(Publish, DoesNotFallBackOnErrorsOfTheDevice) {
  directory_.Put("from", "data");
  for (const int err : {EIO, ENOSPC, EXDEV, EACCES}) {
    calls_.FailCall("RenameAt2", err, calls_.Count("RenameAt2"));
    EXPECT_EQ(ErrorOf(RenameNewTo("from", "to")).kind(), ErrorKind::kIo);
  }
  EXPECT_EQ(calls_.Count("LinkAt"), 0u);
  EXPECT_EQ(directory_.Names(), Names{"from"});
}

TEST_F(Publish, ReportsWhenThereAreNoLinksEither) {
  directory_.Put("from", "data");
  calls_.FailCall("RenameAt2", EINVAL);
  calls_.FailCall("LinkAt", EPERM);
  EXPECT_EQ(ErrorOf(RenameNewTo("from", "to")).kind(), ErrorKind::kIo);
  EXPECT_EQ(directory_.Names(), Names{"from"});
}

TEST_F(Publish, ClaimedDirectoryIsGivenUpWhenTheRenameFails) {
  directory_.Put("from/a", "data");
  calls_.FailCall("RenameAt2", EINVAL);
  calls_.FailCall("RenameAt2", EIO, 1);
  EXPECT_EQ(ErrorOf(RenameNewTo("from", "to")).kind(), ErrorKind::kIo);
  EXPECT_EQ(directory_.Names(), Names{"from"});
}

TEST_F(Publish, RenameOverWorksWithoutRenameAt2) {
  directory_.Put("from", "new");
  directory_.Put("to", "old");
  calls_.FailCall("RenameAt2", ENOSYS);
  const std::string source = directory_ / "from";
  const std::string target = directory_ / "to";
  Value(RenameOver(calls_, {AT_FDCWD, source}, {AT_FDCWD, target}, target));
  EXPECT_EQ(directory_.Names(), Names{"to"});
  EXPECT_EQ(directory_.Contents("to"), "new");
}

}  // namespace
}  // namespace dcpctl::io
