#include "text/numbers.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/result.h"

namespace dcpctl::text {
namespace {

using namespace std::chrono_literals;
using test::ErrorOf;
using test::Value;

constexpr uint64_t kKi = 1024;
constexpr uint64_t kMi = kKi * kKi;
constexpr uint64_t kGi = kMi * kKi;

TEST(FormatBytes, IsExactBelowOneKibibyte) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(862), "862 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
}

TEST(FormatBytes, RoundsToOneDecimal) {
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(1024 + 51), "1.0 KiB");
  EXPECT_EQ(FormatBytes(1024 + 52), "1.1 KiB");
  EXPECT_EQ(FormatBytes(1'503'238'553), "1.4 GiB");
  EXPECT_EQ(FormatBytes(227 * kMi), "227.0 MiB");
}

TEST(FormatBytes, NeverShows1024OfAUnit) {
  EXPECT_EQ(FormatBytes(kMi - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(kMi - 52), "1023.9 KiB");
  EXPECT_EQ(FormatBytes(kMi - 51), "1.0 MiB");
  EXPECT_EQ(FormatBytes(kGi - 1), "1.0 GiB");
  for (int shift = 10; shift < 64; ++shift) {
    EXPECT_EQ(FormatBytes((uint64_t{1} << shift) - 1).find("1024"), std::string::npos) << shift;
  }
}

TEST(FormatBytes, ReachesTheEnd) {
  EXPECT_EQ(FormatBytes(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
  EXPECT_EQ(FormatBytes(uint64_t{1} << 60), "1.0 EiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 59), "1.5 EiB");
}

TEST(FormatCount, GroupsByThree) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(123'456), "123,456");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(FormatDuration, TakesTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(0ns), "0 ms");
  EXPECT_EQ(FormatDuration(-5s), "0 ms");
  EXPECT_EQ(FormatDuration(850ms), "850 ms");
  EXPECT_EQ(FormatDuration(3200ms), "3.2 s");
  EXPECT_EQ(FormatDuration(80s), "1 min 20 s");
  EXPECT_EQ(FormatDuration(65s), "1 min 05 s");
  EXPECT_EQ(FormatDuration(2h + 5min), "2 h 05 min");
  EXPECT_EQ(FormatDuration(100h), "100 h 00 min");
}

TEST(FormatDuration, RoundsIntoTheNextUnit) {
  EXPECT_EQ(FormatDuration(999'600us), "1.0 s");
  EXPECT_EQ(FormatDuration(59'940ms), "59.9 s");
  EXPECT_EQ(FormatDuration(59'960ms), "1 min 00 s");
  EXPECT_EQ(FormatDuration(59min + 59'600ms), "1 h 00 min");
  EXPECT_EQ(FormatDuration(1h + 59min + 40s), "2 h 00 min");
}

TEST(FormatRate, DividesAndSurvivesNoTime) {
  EXPECT_EQ(FormatRate(3 * kGi, 2s), "1.5 GiB/s");
  EXPECT_EQ(FormatRate(100, 1s), "100 B/s");
  EXPECT_EQ(FormatRate(100, 0s), "-");
  EXPECT_EQ(FormatRate(std::numeric_limits<uint64_t>::max(), 1ns).substr(3), "6 EiB/s");
}

TEST(ParseSize, TakesNumbersAndUnits) {
  const std::vector<std::pair<std::string_view, uint64_t>> sizes = {
      {"0", 0},
      {"4096", 4096},
      {"12B", 12},
      {"1K", kKi},
      {"1k", kKi},
      {"1KB", kKi},
      {"1KiB", kKi},
      {"1kib", kKi},
      {"1Ki", kKi},
      {"256MiB", 256 * kMi},
      {"1G", kGi},
      {"64 kb", 64 * kKi},
      {"2T", 2 * kKi * kGi},
      {"1P", kMi * kGi},
      {"1.5GiB", 3 * kGi / 2},
      {"0.1K", 102},
      {"0.5", 0},
      {"1.999", 1},
      {"007M", 7 * kMi},
      {"0.0009765625K", 1},
      {"16383.99999999999999999999P", 16384 * kMi * kGi - 1},
      {"18446744073709551615", std::numeric_limits<uint64_t>::max()},
  };
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(Value(ParseSize(text)), bytes) << text;
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const std::string_view text : {"",       " ",
                                      "K",      "-1",
                                      "+1",     " 1",
                                      "1 ",     "1x",
                                      "1E",     "1KK",
                                      "1KiBs",  "1bi",
                                      "1iB",    "1.",
                                      ".5",     "1.K",
                                      "1..5K",  "1e3",
                                      "0x10",   "1,000",
                                      "1K ",    "18446744073709551616",
                                      "16384P", "99999999999999999999999",
                                      "1\n"}) {
    const auto parsed = ParseSize(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kUsage);
  }
}

TEST(ParseSize, SaysWhatIsWrong) {
  const Error error = ErrorOf(ParseSize("12X"));
  EXPECT_EQ(error.message(), "\"12X\" is not a size: unknown unit \"X\"");
  EXPECT_NE(error.advice(), "");
  EXPECT_EQ(ErrorOf(ParseSize("16384P")).message(), "\"16384P\" is not a size: it is too large");
}

TEST(ParseSize, ReadsBackWhatFormatBytesWrites) {
  for (int shift = 0; shift < 60; ++shift) {
    const uint64_t bytes = uint64_t{1} << shift;
    EXPECT_EQ(Value(ParseSize(FormatBytes(bytes))), bytes);
  }
}

}  // namespace
}  // namespace dcpctl::text
