#include "base/byte_cursor.h"

#include <gtest/gtest.h>

#include <string_view>

namespace dcpctl {
namespace {

using namespace std::string_view_literals;

ByteCursor CursorOn(std::string_view bytes, uint64_t base = 0) { return {"f", std::as_bytes(std::span(bytes)), base}; }

TEST(ByteCursor, ReadsLittleEndianFields) {
  const std::string_view bytes =
      "\x01"                              // U8
      "\x02\x03"                          // U16
      "\x04\x05\x06\x87"                  // U32
      "\x08\x09\x0a\x0b\x0c\x0d\x0e\xff"  // U64
      "text"                              // Text
      "\x10\x11"sv;                       // Bytes
  ByteCursor in = CursorOn(bytes, 1000);
  EXPECT_EQ(in.U8("a"), 0x01);
  EXPECT_EQ(in.U16("b"), 0x0302);
  EXPECT_EQ(in.U32("c"), 0x87060504u);
  EXPECT_EQ(in.U64("d"), 0xff0e0d0c0b0a0908u);
  EXPECT_EQ(in.pos(), 15u);
  EXPECT_EQ(in.offset(), 1015u);
  EXPECT_EQ(in.Text(4, "e"), "text");
  EXPECT_EQ(in.remaining(), 2u);
  EXPECT_EQ(in.Bytes(2, "f")[1], std::byte{0x11});
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(in.Finish(7).value(), 7);
}

TEST(ByteCursor, SaysWhatIsCutAndWhere) {
  ByteCursor in = CursorOn("abc", 0x100);
  in.Skip(1, "head");
  EXPECT_EQ(in.U32("entry count"), 0u);
  const auto result = in.Finish(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(result.error().ToString(), "f:0x101: error: input ends in entry count: 2 bytes left, expected 4");
}

TEST(ByteCursor, MovesNothingAfterAFailure) {
  ByteCursor in = CursorOn("abcdefgh");
  in.Bytes(100, "first");
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.U8("second"), 0u);
  EXPECT_EQ(in.Text(2, "third"), "");
  in.Skip(1, "fourth");
  EXPECT_EQ(in.pos(), 0u);
  in.Reject(ErrorKind::kLimit, "later");
  EXPECT_NE(in.Finish(0).error().message().find("in first"), std::string::npos) << "the first failure stays";
}

TEST(ByteCursor, TakesHugeLengthsForFailures) {
  ByteCursor in = CursorOn("abc");
  in.Skip(2, "head");
  in.Bytes(~uint64_t{0}, "body");
  EXPECT_TRUE(in.failed());
}

TEST(ByteCursor, ComparesSignatures) {
  ByteCursor good = CursorOn("PK\3\4");
  good.ExpectU32(0x04034b50, "signature");
  EXPECT_FALSE(good.failed());
  ByteCursor bad = CursorOn("\0PK\1\2"sv, 16);
  bad.Skip(1, "pad");
  bad.ExpectU32(0x04034b50, "signature");
  EXPECT_EQ(bad.Finish(0).error().ToString(), "f:0x11: error: signature is 0x02014b50, expected 0x04034b50");
}

TEST(ByteCursor, CutSignatureIsACutAndNotAMismatch) {
  ByteCursor in = CursorOn("PK");
  in.ExpectU32(0x04034b50, "signature");
  EXPECT_NE(in.Finish(0).error().message().find("input ends"), std::string::npos);
}

TEST(ByteCursor, RejectsAtTheLastRead) {
  ByteCursor in = CursorOn("abcd", 8);
  in.U8("a");
  in.U16("b");
  in.Reject(ErrorKind::kUnsupported, "no such thing");
  EXPECT_EQ(in.Finish(0).error().ToString(), "f:0x9: error: no such thing");
  EXPECT_EQ(in.Finish(0).error().kind(), ErrorKind::kUnsupported);
}

TEST(ByteCursor, EmptyReadsAtTheEndAreFine) {
  ByteCursor in = CursorOn("");
  EXPECT_EQ(in.Text(0, "name").size(), 0u);
  EXPECT_FALSE(in.failed());
}

}  // namespace
}  // namespace dcpctl
