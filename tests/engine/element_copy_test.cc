#include "engine/element_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result.h"
#include "tests/model/tiling.h"

namespace dcpctl::engine {
namespace {

using test::Pick;
using test::Random;

std::string Swapped(std::string text, uint64_t unit) {
  SwapBytes(std::as_writable_bytes(std::span(text)), unit);
  return text;
}

TEST(SwapBytes, ReversesEachUnit) {
  EXPECT_EQ(Swapped("abcdefgh", 1), "abcdefgh");
  EXPECT_EQ(Swapped("abcdefgh", 2), "badcfehg");
  EXPECT_EQ(Swapped("abcdefgh", 4), "dcbahgfe");
  EXPECT_EQ(Swapped("abcdefghijklmnop", 8), "hgfedcbaponmlkji");
  EXPECT_EQ(Swapped("", 4), "");
}

TEST(Inner, LeavesOuterLevelsOut) {
  const CopyLoop loop{.from = 3, .to = 4, .levels = {{2, 10, 20}, {5, 1, 1}}};
  const CopyLoop inner = Inner(loop, 1);
  EXPECT_EQ(inner.from, 3u);
  EXPECT_EQ(inner.to, 4u);
  ASSERT_EQ(inner.levels.size(), 1u);
  EXPECT_EQ(inner.levels[0].count, 5u);
  EXPECT_TRUE(Inner(loop, 2).IsOneRun());
}

TEST(CopyElements, MovesWhatPlainIndexingMoves) {
  Random random(31);
  for (int round = 0; round < 1000; ++round) {
    const uint64_t item = uint64_t{1} << Pick(random, 0, 4);
    const Dims sizes = test::RandomShape(random, 4, 5);
    Dims strides(sizes.size());
    for (uint64_t& stride : strides) stride = Pick(random, 0, 12);
    if (Pick(random, 0, 2) == 0) strides = RowMajorStrides(sizes);
    const Dims to_strides = RowMajorStrides(sizes);
    const CopyLoop loop = MakeCopyLoop(sizes, 0, strides, 0, to_strides);

    std::string from(loop.SourceSpan() * item, '\0');
    for (char& c : from) c = static_cast<char>(random());
    std::string expected;
    test::ForEachPosition(sizes, [&](DimsView at) { expected += from.substr(test::Dot(at, strides) * item, item); });
    std::string to(expected.size(), '\xee');
    CopyElements(loop, 0, test::BytesOf(from).data(), std::as_writable_bytes(std::span(to)).data(), item);
    ASSERT_EQ(to, expected) << item << " bytes, " << ToString(DimsView(sizes)) << " at " << ToString(DimsView(strides));
  }
}

}  // namespace
}  // namespace dcpctl::engine
