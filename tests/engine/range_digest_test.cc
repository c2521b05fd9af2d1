#include "engine/range_digest.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::Pick;
using test::PlainCrc;
using test::Random;

std::string RandomText(Random& random, uint64_t length) {
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

void Add(RangeDigest& digest, const std::string& text, uint64_t begin, uint64_t end) {
  digest.Add(begin, end - begin, PlainCrc(std::string_view(text).substr(begin, end - begin)));
}

// [begin, end) of each part of a random cut, in random order.
std::vector<std::pair<uint64_t, uint64_t>> RandomRanges(Random& random, uint64_t length, uint64_t cuts) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Box& box : test::RandomTiling(random, Dims{length}, cuts)) {
    ranges.emplace_back(box.offsets[0], box.offsets[0] + box.sizes[0]);
  }
  return ranges;
}

TEST(RangeDigest, OfRangesInAnyOrderIsTheCrcOfTheWhole) {
  Random random(21);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomText(random, Pick(random, 1, 500));
    RangeDigest digest;
    const auto ranges = RandomRanges(random, text.size(), Pick(random, 0, 40));
    for (const auto& [begin, end] : ranges) {
      EXPECT_EQ(digest.Whole(text.size()), std::nullopt);
      Add(digest, text, begin, end);
    }
    EXPECT_EQ(digest.Whole(text.size()), PlainCrc(text));
    EXPECT_EQ(digest.Whole(text.size() + 1), std::nullopt);
    EXPECT_EQ(digest.Whole(text.size() - 1), text.size() == 1 ? std::optional<uint32_t>(0) : std::nullopt);
  }
}

TEST(RangeDigest, OfNothingIsZero) {
  RangeDigest digest;
  EXPECT_EQ(digest.Whole(0), 0u);
  EXPECT_EQ(digest.Whole(1), std::nullopt);
  digest.Add(7, 0, 0x1234);
  EXPECT_EQ(digest.Whole(7), std::nullopt);
}

TEST(RangeDigest, GivesNothingAfterAnOverlap) {
  Random random(22);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomText(random, Pick(random, 2, 200));
    auto ranges = RandomRanges(random, text.size(), Pick(random, 1, 20));
    const uint64_t begin = Pick(random, 0, text.size() - 1);
    ranges.insert(ranges.begin() + static_cast<std::ptrdiff_t>(Pick(random, 0, ranges.size())),
                  {begin, Pick(random, begin + 1, text.size())});
    RangeDigest digest;
    for (const auto& range : ranges) Add(digest, text, range.first, range.second);
    EXPECT_EQ(digest.Whole(text.size()), std::nullopt);
  }
}

TEST(RangeDigest, GivesNothingForAGap) {
  RangeDigest digest;
  const std::string text = "abcdefgh";
  Add(digest, text, 0, 3);
  Add(digest, text, 4, 8);
  EXPECT_EQ(digest.Whole(8), std::nullopt);
  Add(digest, text, 3, 4);
  EXPECT_EQ(digest.Whole(8), PlainCrc(text));
}

TEST(RangeDigest, TakesRangesFromSeveralThreads) {
  Random random(23);
  const std::string text = RandomText(random, 4000);
  const auto ranges = RandomRanges(random, text.size(), 400);
  RangeDigest digest;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < ranges.size(); i += 4) Add(digest, text, ranges[i].first, ranges[i].second);
      });
    }
  }
  EXPECT_EQ(digest.Whole(text.size()), PlainCrc(text));
}

}  // namespace
}  // namespace dcpctl::engine
