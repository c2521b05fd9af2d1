#include "io/posix_scratch_file.h"

#include <gtest/gtest.h>

#include "support/faulty_calls.h"
#include "support/result.h"
#include "support/temp_directory.h"

namespace dcpctl::io {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::ReadAll;
using test::Value;

// The parameter is the errno by which O_TMPFILE is taken away; 0 leaves it there.
class PosixScratchFile : public testing::TestWithParam<int> {
 protected:
  PosixScratchFile() {
    if (GetParam() != 0) calls_.FailCall("OpenAt", GetParam());
  }
  std::unique_ptr<ScratchFile> Open() { return Value(NewPosixScratchFile(calls_, directory_.path())); }

  test::TempDirectory directory_;
  test::FaultyCalls calls_;
};

TEST_P(PosixScratchFile, HoldsWhatWasWrittenAndHasNoName) {
  {
    const auto file = Open();
    EXPECT_EQ(file->size(), 0u);
    EXPECT_EQ(directory_.Names().size(), 0u);
    Value(file->WriteAt(3, BytesOf("def")));
    Value(file->WriteAt(0, BytesOf("abc")));
    EXPECT_EQ(file->size(), 6u);
    EXPECT_EQ(ReadAll(*file), "abcdef");
  }
  EXPECT_EQ(calls_.OpenDescriptors(), 0);
}

TEST_P(PosixScratchFile, RefusesRangesPastTheEnd) {
  const auto file = Open();
  Value(file->WriteAt(0, BytesOf("abc")));
  std::byte out{};
  EXPECT_EQ(ErrorOf(file->ReadAt(3, {&out, 1})).kind(), ErrorKind::kCorrupt);
}

TEST_P(PosixScratchFile, ReportsErrors) {
  const auto file = Open();
  Value(file->WriteAt(0, BytesOf("abc")));
  calls_.FailCall("PWrite", ENOSPC, 1);
  const Error error = ErrorOf(file->WriteAt(8, BytesOf("x")));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(error.place().offset, 8u);
  EXPECT_EQ(error.place().file, "scratch file in " + directory_.path().string());
  EXPECT_EQ(file->size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(EachWay, PosixScratchFile, testing::Values(0, EOPNOTSUPP, EISDIR), [](const auto& way) {
  return way.param == 0 ? "TmpFile" : way.param == EISDIR ? "UnlinkSinceOldKernel" : "UnlinkSinceNotSupported";
});

TEST(NewPosixScratchFile, NamesAMissingDirectory) {
  const test::TempDirectory directory;
  const Error error = ErrorOf(NewPosixScratchFile(KernelCalls(), directory / "no"));
  EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(error.place().file, (directory / "no").string());
}

TEST(NewPosixScratchFile, FailsWhenTheNameCannotBeRemoved) {
  const test::TempDirectory directory;
  test::FaultyCalls calls;
  calls.FailCall("OpenAt", EOPNOTSUPP);
  calls.FailCall("UnlinkAt", EIO);
  EXPECT_EQ(ErrorOf(NewPosixScratchFile(calls, directory.path())).kind(), ErrorKind::kIo);
  EXPECT_EQ(calls.OpenDescriptors(), 0);
}

}  // namespace
}  // namespace dcpctl::io
