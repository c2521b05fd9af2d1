#include "base/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dcpctl {
namespace {

uint32_t CrcOf(std::string_view text, uint32_t crc = 0) { return Crc32(std::as_bytes(std::span(text)), crc); }

TEST(Crc32, MatchesTheCatalogue) {
  EXPECT_EQ(CrcOf(""), 0u);
  EXPECT_EQ(CrcOf("123456789"), 0xcbf43926u);
  EXPECT_EQ(CrcOf("a"), 0xe8b7be43u);
}

TEST(Crc32, MatchesZlibOnAnyLength) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(5000);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 7) {
    const auto zlib = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(length));
    EXPECT_EQ(Crc32(std::span(bytes).first(length)), zlib) << length;
  }
}

TEST(Crc32, ContinuesAndCombines) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const uint32_t whole = CrcOf(text);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t head = CrcOf(std::string_view(text).substr(0, cut));
    const std::string_view tail = std::string_view(text).substr(cut);
    EXPECT_EQ(CrcOf(tail, head), whole) << cut;
    EXPECT_EQ(Crc32Combine(head, CrcOf(tail), tail.size()), whole) << cut;
  }
}

// The CRC of zeros, doubled again and again from one byte: a length of more than 32 bits must count in full.
TEST(Crc32Combine, TakesLengthsBeyond32Bits) {
  uint32_t zeros = Crc32(std::vector<std::byte>(1));
  uint64_t length = 1;
  for (; length < uint64_t{1} << 33; length *= 2) zeros = Crc32Combine(zeros, zeros, length);
  const uint32_t one = Crc32(std::vector<std::byte>(1));
  const uint32_t left = Crc32Combine(Crc32Combine(one, zeros, length), one, 1);
  const uint32_t right = Crc32Combine(one, Crc32Combine(zeros, one, 1), length + 1);
  EXPECT_EQ(left, right);
  EXPECT_NE(Crc32Combine(one, zeros, length), Crc32Combine(one, zeros, 1)) << "not cut to 32 bits";
  EXPECT_NE(Crc32Combine(one, zeros, length), Crc32Combine(one, zeros, 0));
}

}  // namespace
}  // namespace dcpctl
