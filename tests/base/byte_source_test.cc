#include "base/byte_source.h"

#include <gtest/gtest.h>

namespace dcpctl {
namespace {

MemorySource Digits() {
  std::vector<std::byte> bytes;
  for (char c = '0'; c <= '9'; ++c) bytes.push_back(static_cast<std::byte>(c));
  return {"digits", bytes};
}

TEST(MemorySource, ReadsAnyRange) {
  const MemorySource source = Digits();
  EXPECT_EQ(source.size(), 10u);
  for (uint64_t offset = 0; offset <= 10; ++offset) {
    for (uint64_t length = 0; offset + length <= 10; ++length) {
      const auto read = ReadRange(source, offset, length);
      ASSERT_TRUE(read);
      ASSERT_EQ(read->size(), length);
      for (uint64_t i = 0; i < length; ++i) EXPECT_EQ((*read)[i], source.bytes()[offset + i]);
    }
  }
}

TEST(MemorySource, RefusesRangesPastTheEnd) {
  const MemorySource source = Digits();
  std::vector<std::byte> out(2);
  EXPECT_EQ(source.ReadAt(9, out).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(source.ReadAt(~uint64_t{0}, out).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ReadRange(source, 11, 0).error().ToString(),
            "digits:0xb: error: range of 0 bytes ends past the end, expected at most 10 bytes in all");
}

TEST(ReadRange, DoesNotAllocateForWhatIsNotThere) {
  EXPECT_EQ(ReadRange(Digits(), 0, ~uint64_t{0}).error().kind(), ErrorKind::kCorrupt);
}

TEST(ReadRange, OfNothingFromNothing) {
  const MemorySource source("empty", {});
  EXPECT_TRUE(ReadRange(source, 0, 0));
  EXPECT_FALSE(ReadRange(source, 0, 1));
}

}  // namespace
}  // namespace dcpctl
