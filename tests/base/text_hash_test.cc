#include "base/text_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcpctl {
namespace {

constexpr HashSecret kSecret = {.low = 0x0706050403020100, .high = 0x0f0e0d0c0b0a0908};

std::string Counting(size_t length) {
  std::string text;
  while (text.size() < length) text += static_cast<char>(text.size());
  return text;
}

// As `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:8 -macopt c-rounds:1 -macopt d-rounds:3
// SIPHASH` has them, which prints bytes, the lowest first.
TEST(SipHash, IsAsOthersHaveIt) {
  EXPECT_EQ(SipHash("", kSecret), 0xabac0158050fc4dc);
  EXPECT_EQ(SipHash(Counting(1), kSecret), 0xc9f49bf37d57ca93);
  EXPECT_EQ(SipHash(Counting(7), kSecret), 0xd3927d989bb11140);
  EXPECT_EQ(SipHash(Counting(8), kSecret), 0x369095118d299a8e);
  EXPECT_EQ(SipHash(Counting(9), kSecret), 0x25a48eb36c063de4);
  EXPECT_EQ(SipHash(Counting(15), kSecret), 0xd320d86d2a519956);
  EXPECT_EQ(SipHash(Counting(16), kSecret), 0xcc4fdd1a7d908b66);
  EXPECT_EQ(SipHash(Counting(63), kSecret), 0x9d199062b7bbb3a8);
}

TEST(SipHash, IsAnotherWithAnotherSecret) {
  EXPECT_NE(SipHash("key", kSecret), SipHash("key", {.low = kSecret.low, .high = 0}));
  EXPECT_NE(SipHash("key", kSecret), SipHash("key", {.low = 0, .high = kSecret.high}));
}

// With the hash of the GNU library these have one hash, and so has any number more. A table of them has one long chain.
TEST(TextHash, TellsApartWhatIsMadeToCollide) {
  const std::vector<std::string> same = {"aaalpgmhbA^wRam~", "aaofjjf6/%`6f+Qa", "aawoafa`NxNd<e)a",
                                         "abjfcno^bY\"w8rB"};
  TextSet set(same.begin(), same.end());
  for (size_t i = 1; i < same.size(); ++i) EXPECT_NE(TextHash()(same[0]), TextHash()(same[i]));
  EXPECT_TRUE(set.contains(std::string_view("aaofjjf6/%`6f+Qa")));
  EXPECT_FALSE(set.contains(std::string_view("aaofjjf6/%`6f+Q")));
}

}  // namespace
}  // namespace dcpctl
