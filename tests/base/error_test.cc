#include "dcpctl/error.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace dcpctl {
namespace {

TEST(Error, PrintsPlaceMessageContextAndAdvice) {
  const Error error = Error(ErrorKind::kCorrupt, Place{"a.distcp", 0x4a2c0}, "signature is 0x0")
                          .In("chunk [0]")
                          .In("tensor \"w\"")
                          .Advise("copy it again");
  EXPECT_EQ(error.ToString(), "a.distcp:0x4a2c0: error: signature is 0x0 (chunk [0]; tensor \"w\")\n  copy it again");
  EXPECT_EQ(error.Text(), "signature is 0x0 (chunk [0]; tensor \"w\")");
  EXPECT_EQ(error.message(), "signature is 0x0");
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
}

TEST(Error, WithoutAPlaceNamesTheProgram) {
  EXPECT_EQ(Error(ErrorKind::kUsage, "no input").ToString(), "dcpctl: error: no input");
}

TEST(Error, EscapesTheFileName) {
  EXPECT_EQ(Error(ErrorKind::kIo, Place{"a\x1b\n"}, "m").ToString(), "a\\x1b\\n: error: m");
}

TEST(Error, KeepsTheInnermostPlaceAndAdvice) {
  const Error kept = Error(ErrorKind::kIo, Place{"inner", 1}, "m").At(Place{"outer", 2});
  EXPECT_EQ(kept.place().file, "inner");
  EXPECT_EQ(kept.place().offset, 1u);
  EXPECT_EQ(Error(ErrorKind::kIo, "m").At(Place{"outer", 2}).place().file, "outer");
  EXPECT_EQ(Error(ErrorKind::kIo, Place{"same"}, "m").At(Place{"same", 2}).place().offset, 2u);
  EXPECT_EQ(Error(ErrorKind::kIo, Place{"inner"}, "m").At(Place{"outer", 2}).place().offset, std::nullopt);
  EXPECT_EQ(Error(ErrorKind::kIo, "m").Advise("first").Advise("second").advice(), "first");
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(Place{"f", 3}, ErrorKind::kUsage, "odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  DCPCTL_ASSIGN(const int half, Half(number));
  DCPCTL_TRY(Half(half));
  return half / 2;
}

TEST(Result, CarriesValuesAndErrorsThroughTheMacros) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_EQ(Quarter(7).error().message(), "odd");
  EXPECT_EQ(Quarter(6).error().ToString(), "f:0x3: error: odd");
}

}  // namespace
}  // namespace dcpctl
