#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace dcpctl {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint64_t k32 = uint64_t{1} << 32;

TEST(CheckedAdd, AnswersOrGivesUp) {
  EXPECT_EQ(CheckedAdd(2, 3), 5u);
  EXPECT_EQ(CheckedAdd(kMax, 0), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(uint64_t{1} << 63, uint64_t{1} << 63), std::nullopt);
}

TEST(CheckedMul, AnswersOrGivesUp) {
  EXPECT_EQ(CheckedMul(6, 7), 42u);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
  EXPECT_EQ(CheckedMul(kMax, 0), 0u);
  EXPECT_EQ(CheckedMul(k32, k32 - 1), k32 * (k32 - 1));
  EXPECT_EQ(CheckedMul(k32, k32), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 2), std::nullopt);
}

TEST(CheckedProduct, MultipliesAll) {
  EXPECT_EQ(CheckedProduct({}), 1u) << "of a scalar's shape";
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{2, 3, 7}), 42u);
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{k32, k32, 1}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{k32, k32, 0}), 0u) << "zero wins over overflow";
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{k32, k32, k32, k32}), std::nullopt) << "wraps to 0";
}

TEST(InRange, NeverWraps) {
  EXPECT_TRUE(InRange(0, 0, 0));
  EXPECT_TRUE(InRange(3, 7, 10));
  EXPECT_TRUE(InRange(10, 0, 10));
  EXPECT_FALSE(InRange(3, 8, 10));
  EXPECT_FALSE(InRange(11, 0, 10));
  EXPECT_FALSE(InRange(kMax, 2, 10));
  EXPECT_FALSE(InRange(2, kMax, 10));
  EXPECT_TRUE(InRange(0, kMax, kMax));
}

TEST(AlignUp, RoundsToMultiples) {
  EXPECT_EQ(AlignUp(0, 64), 0u);
  EXPECT_EQ(AlignUp(1, 64), 64u);
  EXPECT_EQ(AlignUp(64, 64), 64u);
  EXPECT_EQ(AlignUp(65, 64), 128u);
  EXPECT_EQ(AlignUp(7, 1), 7u);
}

}  // namespace
}  // namespace dcpctl
