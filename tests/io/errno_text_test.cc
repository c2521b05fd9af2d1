#include "io/errno_text.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace dcpctl::io {
namespace {

TEST(ErrnoText, NamesTheErrorAndKeepsUnknownNumbers) {
  EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory");
  EXPECT_EQ(ErrnoText(4242), "error 4242");
}

TEST(ErrorFromErrno, SaysWhatWasTriedAndWhere) {
  const Error error = ErrorFromErrno(ENOENT, "open", Place{"a/b", 16});
  EXPECT_EQ(error.ToString(), "a/b:0x10: error: cannot open: No such file or directory");
}

TEST(ErrorFromErrno, TellsKindsApart) {
  EXPECT_EQ(ErrorFromErrno(ENOENT, "open").kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorFromErrno(ENOTDIR, "open").kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorFromErrno(EEXIST, "create").kind(), ErrorKind::kExists);
  EXPECT_EQ(ErrorFromErrno(EIO, "read").kind(), ErrorKind::kIo);
  EXPECT_EQ(ErrorFromErrno(EACCES, "open").kind(), ErrorKind::kIo);
}

TEST(ErrorFromErrno, AdvisesWhereSpaceRanOut) {
  EXPECT_NE(ErrorFromErrno(ENOSPC, "write").advice().find("free some space"), std::string::npos);
  EXPECT_NE(ErrorFromErrno(EDQUOT, "write").advice().find("quota"), std::string::npos);
  EXPECT_EQ(ErrorFromErrno(EIO, "write").advice(), "");
}

}  // namespace
}  // namespace dcpctl::io
