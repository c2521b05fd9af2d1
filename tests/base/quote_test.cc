#include "base/quote.h"

#include <gtest/gtest.h>

namespace dcpctl {
namespace {

using namespace std::string_literals;

TEST(Escape, KeepsPrintableText) {
  EXPECT_EQ(Escape(""), "");
  EXPECT_EQ(Escape("a b~ \"'"), "a b~ \"'");
  EXPECT_EQ(Escape("naïve 模型 🚀"), "naïve 模型 🚀");
  EXPECT_EQ(Escape("\u00a0"), "\u00a0") << "the first after the C1 controls";
}

TEST(Escape, ShowsControlCharacters) {
  EXPECT_EQ(Escape("\n\r\t\\"), "\\n\\r\\t\\\\");
  EXPECT_EQ(Escape("\0\x1b\x7f"s), "\\x00\\x1b\\x7f");
  EXPECT_EQ(Escape("\u0080\u009b\u009f"), "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");
  // What is not seen and turns around what is beside it.
  EXPECT_EQ(Escape("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe");
  EXPECT_EQ(Escape("\u200e\u2066\u061c"), "\\xe2\\x80\\x8e\\xe2\\x81\\xa6\\xd8\\x9c");
  EXPECT_EQ(Escape("\u200d\u202f\u2065\u206a\u061b"), "\u200d\u202f\u2065\u206a\u061b");
}

TEST(Escape, ShowsBrokenUtf8ByteByByte) {
  EXPECT_EQ(Escape("a\xff"
                   "b"),
            "a\\xffb");
  EXPECT_EQ(Escape("\xe6\xa8"), "\\xe6\\xa8");
  EXPECT_EQ(Escape("\x80x"), "\\x80x");
}

TEST(Escape, LetsNoControlByteThrough) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string escaped = Escape(std::string{static_cast<char>(first), static_cast<char>(second)});
      for (const char c : escaped) {
        ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << first << " " << second;
      }
      ASSERT_TRUE(escaped.find("\xc2\x9b") == std::string::npos);
    }
  }
}

TEST(Quote, EscapesQuotes) {
  EXPECT_EQ(Quote("a"), "\"a\"");
  EXPECT_EQ(Quote("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
}

TEST(Quote, CutsLongText) {
  EXPECT_EQ(Quote("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(Quote("abcdefg", 6), "\"abcdef...\"");
  EXPECT_EQ(Quote(std::string(1000, 'x')).size(), 205u);
}

TEST(Hex, PadsToDigits) {
  EXPECT_EQ(Hex(0), "0x0");
  EXPECT_EQ(Hex(0x1f), "0x1f");
  EXPECT_EQ(Hex(0x1f, 8), "0x0000001f");
  EXPECT_EQ(Hex(~uint64_t{0}, 2), "0xffffffffffffffff");
}

TEST(Utf8SequenceLength, TakesValidSequences) {
  EXPECT_EQ(Utf8SequenceLength(""), 0u);
  EXPECT_EQ(Utf8SequenceLength("a"), 1u);
  EXPECT_EQ(Utf8SequenceLength("\0"s), 1u);
  EXPECT_EQ(Utf8SequenceLength("\u0080"), 2u);
  EXPECT_EQ(Utf8SequenceLength("\u0800x"), 3u);
  EXPECT_EQ(Utf8SequenceLength("\ud7ff"), 3u);
  EXPECT_EQ(Utf8SequenceLength("\U00010000"), 4u);
  EXPECT_EQ(Utf8SequenceLength("\U0010ffff"), 4u);
}

TEST(Utf8SequenceLength, RefusesTheRest) {
  for (const std::string_view text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xe0\x9f\xbf",
                                      "\xe0\xa0", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80",
                                      "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe6\xa8x"}) {
    EXPECT_EQ(Utf8SequenceLength(text), 0u) << Escape(text);
  }
}

}  // namespace
}  // namespace dcpctl
