#include "dcp/record_bounds.h"

#include <gtest/gtest.h>

#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using test::ErrorOf;
using test::Value;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Of one file of a mebibyte.
class RecordBoundsTest : public testing::Test {
 protected:
  RecordBoundsTest() {
    catalog_.files.push_back({.path = "__0_0.distcp", .bytes = kMiB});
    limits_.object_bytes = kMiB;
  }

  Catalog catalog_;
  Limits limits_;
};

TEST_F(RecordBoundsTest, LetRecordsLieOverEachOther) {
  RecordBounds bounds(catalog_, limits_);
  for (int i = 0; i < 64 + 256; ++i) Value(bounds.Add(0, kMiB, false, false));
  EXPECT_EQ(ErrorOf(bounds.Add(0, 1, false, false)).kind(), ErrorKind::kLimit);
}

TEST_F(RecordBoundsTest, LetFewOfThemBeCompressed) {
  RecordBounds bounds(catalog_, limits_);
  for (int i = 0; i < 4; ++i) Value(bounds.Add(0, kMiB, true, i % 2 == 0));
  Value(bounds.Add(0, kMiB, false, false));
  EXPECT_EQ(ErrorOf(bounds.Add(0, 1, true, false)).kind(), ErrorKind::kLimit);
}

TEST_F(RecordBoundsTest, CompareWhatObjectsDecodeToWithTheirLengths) {
  for (const uint64_t length : {uint64_t{1}, kMiB}) {
    RecordBounds bounds(catalog_, limits_);
    Value(bounds.Add(0, length, true, true));
    Value(bounds.Add(0, kMiB, true, false));  // a tensor says itself how large it is
    bounds.AddDecoded(length == 1 ? 4 * kMiB : 19 * kMiB);
    EXPECT_FALSE(bounds.IsExceeded());
    Value(bounds.CheckDecoded());
    bounds.AddDecoded(1);
    EXPECT_TRUE(bounds.IsExceeded());
    EXPECT_EQ(ErrorOf(bounds.CheckDecoded()).kind(), ErrorKind::kLimit);
  }
}

}  // namespace
}  // namespace dcpctl::dcp
