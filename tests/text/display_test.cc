#include "text/display.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/quote.h"

namespace dcpctl::text {
namespace {

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("model.layers.0"), 14u);
  EXPECT_EQ(DisplayWidth("naïve"), 5u);
  EXPECT_EQ(DisplayWidth("nai\u0308ve"), 5u) << "combining diaeresis";
  EXPECT_EQ(DisplayWidth("模型"), 4u);
  EXPECT_EQ(DisplayWidth("한국어"), 6u);
  EXPECT_EQ(DisplayWidth("🚀"), 2u);
  EXPECT_EQ(DisplayWidth("a\u200bb"), 2u) << "zero width space";
  EXPECT_EQ(DisplayWidth("├── │ …"), 7u);
  EXPECT_EQ(DisplayWidth("\u0300"), 0u);
}

TEST(DisplayWidth, KnowsTheEdgesOfItsRanges) {
  EXPECT_EQ(DisplayWidth("\u02ff"), 1u);
  EXPECT_EQ(DisplayWidth("\u036f"), 0u);
  EXPECT_EQ(DisplayWidth("\u0370"), 1u);
  EXPECT_EQ(DisplayWidth("\u115f"), 2u);
  EXPECT_EQ(DisplayWidth("\u303f"), 1u);
  EXPECT_EQ(DisplayWidth("\U0003fffd"), 2u);
  EXPECT_EQ(DisplayWidth("\U0003fffe"), 1u);
}

TEST(DisplayWidth, CountsBrokenBytesSingly) {
  EXPECT_EQ(DisplayWidth("\xff\xfe"), 2u);
  EXPECT_EQ(DisplayWidth("\xe6\xa8"), 2u) << "two of three bytes";
}

TEST(Ellipsize, LeavesWhatFits) {
  EXPECT_EQ(Ellipsize("abc", 3), "abc");
  EXPECT_EQ(Ellipsize("", 0), "");
  EXPECT_EQ(Ellipsize("模型", 4), "模型");
}

TEST(Ellipsize, CutsTheMiddle) {
  EXPECT_EQ(Ellipsize("0123456789", 9), "0123…6789");
  EXPECT_EQ(Ellipsize("0123456789", 6), "012…89");
  EXPECT_EQ(Ellipsize("0123456789", 3), "0…9");
  EXPECT_EQ(Ellipsize("0123456789", 2), "0…");
  EXPECT_EQ(Ellipsize("0123456789", 1), "…");
  EXPECT_EQ(Ellipsize("0123456789", 0), "");
}

TEST(Ellipsize, KeepsCharactersWhole) {
  EXPECT_EQ(Ellipsize("模型模型", 7), "模…型") << "half a wide character does not fit";
  EXPECT_EQ(Ellipsize("aai\u0308bbbbbi\u0308", 5), "aa…bi\u0308");
  EXPECT_EQ(Ellipsize("i\u0308bbbbb", 3), "i\u0308…b");
  EXPECT_EQ(Ellipsize("aaaai\u0308b", 4), "aa…b") << "its diaeresis goes with the letter";
}

TEST(Ellipsize, FitsAndStaysUtf8) {
  const std::vector<std::string> glyphs = {"a", ".", "é", "模", "🚀", "i\u0308", "\u200b"};
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) text += glyphs[random() % glyphs.size()];
    const size_t width = random() % 24;
    const std::string cut = Ellipsize(text, width);
    EXPECT_LE(DisplayWidth(cut), width);
    EXPECT_TRUE(IsUtf8(cut)) << Quote(text) << " " << width;
    if (DisplayWidth(text) > width) {
      EXPECT_GE(DisplayWidth(cut) + 2, width) << "wastes no more than what wide characters force";
    }
  }
}

TEST(Printable, LeavesHarmlessTextAlone) {
  for (const std::string_view text : {"", "a b", "naïve 模型", "C:\\x", "\\n", "\"quoted\""}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, EscapesWhatActsOnATerminal) {
  EXPECT_EQ(Printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Printable("a\nb"), "a\\nb");
  EXPECT_EQ(Printable("\\\n"), "\\\\\\n");
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\u009b31m"), "\\xc2\\x9b31m");
  EXPECT_EQ(Printable(Printable("a\x1b\\b")), Printable("a\x1b\\b"));
}

}  // namespace
}  // namespace dcpctl::text
