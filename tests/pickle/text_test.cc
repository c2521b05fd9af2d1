// Conversions that the reader, writer and printer rest on: digits, big integers, UTF-8.
#include <gtest/gtest.h>

#include <cmath>

#include "pickle/big_int.h"
#include "pickle/repr.h"
#include "pickle/text_forms.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

TEST(PickleBigInt, TrimsBytesThatRepeatTheSign) {
  EXPECT_EQ(TrimBigInt("\x05\0\0"sv), "\x05"sv);
  EXPECT_EQ(TrimBigInt("\x80\0"sv), "\x80\0"sv);  // 128 needs its zero
  EXPECT_EQ(TrimBigInt("\xff\xff"sv), "\xff"sv);
  EXPECT_EQ(TrimBigInt("\x7f\xff"sv), "\x7f\xff"sv);  // -129 needs its sign
  EXPECT_EQ(TrimBigInt("\0\0"sv), ""sv);
}

TEST(PickleBigInt, FitsSixtyFourBitsOrNot) {
  EXPECT_EQ(BigIntToInt64(""), 0);
  EXPECT_EQ(BigIntToInt64("\xff\xff\xff\xff\xff\xff\xff\x7f"sv), INT64_MAX);
  EXPECT_EQ(BigIntToInt64("\0\0\0\0\0\0\0\x80"sv), INT64_MIN);
  EXPECT_EQ(BigIntToInt64("\0\0\0\0\0\0\0\x80\xff\xff"sv), INT64_MIN);
  EXPECT_EQ(BigIntToInt64("\0\0\0\0\0\0\0\x80\0"sv), std::nullopt);
}

TEST(PickleBigInt, IsMinimalFromInt64) {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{127}, int64_t{128}, int64_t{-128},
                              int64_t{-129}, INT64_MAX, INT64_MIN}) {
    const std::string bytes = BigIntFromInt64(value);
    EXPECT_EQ(BigIntToInt64(bytes), value);
    EXPECT_EQ(TrimBigInt(bytes), bytes);
  }
  EXPECT_EQ(BigIntFromInt64(128), "\x80\0"sv);
}

TEST(PickleBigInt, ReadsAndPrintsDigits) {
  for (const std::string_view digits :
       {"18446744073709551616"sv, "1000000000"sv, "99999999999999999999999999999999999999"sv}) {
    EXPECT_EQ(BigIntToText(BigIntFromDigits(digits, 10, false)), digits);
    EXPECT_EQ(BigIntToText(BigIntFromDigits(digits, 10, true)), "-" + std::string(digits));
  }
  EXPECT_EQ(BigIntToText(BigIntFromDigits("ffffffffffffffffF", 16, false)), "295147905179352825855");
  EXPECT_EQ(BigIntToText(BigIntFromDigits("17777", 8, true)), "-8191");
  EXPECT_EQ(BigIntToText(BigIntFromDigits("101", 2, false)), "5");
  EXPECT_EQ(BigIntToText(""), "0");
}

TEST(PickleBigInt, PrintsVeryLargeOnesInHexadecimal) {
  const std::string digits(4300, '9');
  EXPECT_EQ(BigIntToText(BigIntFromDigits(digits, 10, false)).substr(0, 2), "99");
  EXPECT_EQ(BigIntToText(std::string(2000, '\0') + "\x01").substr(0, 4), "0x10");
  EXPECT_EQ(BigIntToText(std::string(2000, '\0') + "\xff").substr(0, 4), "-0x1");
}

TEST(PickleTextForms, IntegersAreThoseOfPython) {
  const auto parsed = [](std::string_view line) { return std::get<int64_t>(ParseIntegerLine(line).value()); };
  EXPECT_EQ(parsed(" 12 "), 12);
  EXPECT_EQ(parsed("+7"), 7);
  EXPECT_EQ(parsed("-0x10"), -16);
  EXPECT_EQ(parsed("0B11"), 3);
  EXPECT_EQ(parsed("010"), 8);
  EXPECT_EQ(parsed("0"), 0);
  for (const std::string_view bad : {"", "-", "0x", "08", "1.0", "1 2", "--1", "0b2"}) {
    EXPECT_FALSE(ParseIntegerLine(bad).has_value()) << bad;
  }
}

TEST(PickleTextForms, FloatsAreThoseOfPython) {
  EXPECT_EQ(ParseFloatLine("1e5"), 1e5);
  EXPECT_EQ(ParseFloatLine("-.5"), -0.5);
  EXPECT_EQ(ParseFloatLine("5e-324"), 5e-324);
  EXPECT_EQ(ParseFloatLine("Infinity"), HUGE_VAL);
  for (const std::string_view bad : {"", "+", "+-1", "nan(1)", "1e", " 1", "0x1p3"}) {
    EXPECT_FALSE(ParseFloatLine(bad).has_value()) << bad;
  }
}

TEST(PickleUtf8, PassesSurrogatesWhereAsked) {
  EXPECT_TRUE(IsUtf8("abcdefgh\xc3\xa9 abcdefghij\xf0\x9f\x98\x80", Surrogates::kReject));
  EXPECT_TRUE(IsUtf8("a\xed\xa0\x80z", Surrogates::kPass));
  EXPECT_FALSE(IsUtf8("a\xed\xa0\x80z", Surrogates::kReject));
  for (const std::string_view bad : {"\xed\xa0"sv, "12345678\xff"sv, "\xc0\x80"sv, "\xf4\x90\x80\x80"sv, "\x80"sv}) {
    EXPECT_FALSE(IsUtf8(bad, Surrogates::kPass));
  }
}

TEST(PickleUtf8, EncodesAndDecodes) {
  for (const uint32_t code_point : {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string text;
    AppendUtf8(text, code_point);
    EXPECT_TRUE(IsUtf8(text, Surrogates::kPass)) << code_point;
    std::string_view rest = text;
    EXPECT_EQ(TakeCodePoint(rest), code_point);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(PickleRepr, StopsAtItsBudget) {
  std::string out;
  AppendString(out, std::string(1000, 'x'), 10);
  EXPECT_LE(out.size(), 12u);
  out.clear();
  AppendBytes(out, std::string(1000, '\0'), 10);
  EXPECT_LE(out.size(), 16u);
}

}  // namespace
}  // namespace dcpctl::pickle
