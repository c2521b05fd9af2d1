#include "base/window_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/result.h"

namespace dcpctl {
namespace {

using test::TextOf;
using test::Value;

// Letters whose place tells their offset, and a count of the reads.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(uint64_t size) {
    for (uint64_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(i * 7 + i / 256));
  }
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return Fail(ErrorKind::kCorrupt, "past the end");
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<std::byte> Slice(uint64_t offset, uint64_t length) const {
    return {bytes_.begin() + static_cast<ptrdiff_t>(offset), bytes_.begin() + static_cast<ptrdiff_t>(offset + length)};
  }

  mutable int reads = 0;

 private:
  std::vector<std::byte> bytes_;
  std::string name_ = "inner";
};

TEST(WindowSource, ReadsTheTwoEndsOnce) {
  const CountingSource inner(1000);
  const WindowSource window = Value(WindowSource::Read(inner, 100, 800, {.head_bytes = 50, .tail_bytes = 60}));
  EXPECT_EQ(inner.reads, 2);
  EXPECT_EQ(Value(ReadRange(window, 100, 50)), inner.Slice(100, 50));
  EXPECT_EQ(Value(ReadRange(window, 120, 1)), inner.Slice(120, 1));
  EXPECT_EQ(Value(ReadRange(window, 840, 60)), inner.Slice(840, 60));
  EXPECT_EQ(Value(ReadRange(window, 899, 1)), inner.Slice(899, 1));
  EXPECT_EQ(inner.reads, 2);
  EXPECT_EQ(window.size(), 1000U);
  EXPECT_EQ(window.name(), "inner");
}

TEST(WindowSource, PassesOtherReadsOn) {
  const CountingSource inner(1000);
  const WindowSource window = Value(WindowSource::Read(inner, 100, 800, {.head_bytes = 50, .tail_bytes = 60}));
  EXPECT_EQ(Value(ReadRange(window, 140, 20)), inner.Slice(140, 20));  // begins in the head
  EXPECT_EQ(Value(ReadRange(window, 830, 20)), inner.Slice(830, 20));  // ends in the tail
  EXPECT_EQ(Value(ReadRange(window, 0, 1000)), inner.Slice(0, 1000));
  EXPECT_EQ(inner.reads, 5);
  EXPECT_FALSE(ReadRange(window, 999, 2));
}

TEST(WindowSource, ReadsSmallRangeAtOnce) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{50}, uint64_t{110}}) {
    const CountingSource inner(1000);
    const WindowSource window = Value(WindowSource::Read(inner, 100, length, {.head_bytes = 50, .tail_bytes = 60}));
    EXPECT_EQ(Value(ReadRange(window, 100, length)), inner.Slice(100, length));
    EXPECT_EQ(inner.reads, 1) << length;
  }
}

TEST(WindowSource, RejectsRangePastTheEnd) {
  const CountingSource inner(1000);
  EXPECT_FALSE(WindowSource::Read(inner, 999, 2));
  EXPECT_FALSE(WindowSource::Read(inner, 1001, 0));
  EXPECT_FALSE(WindowSource::Read(inner, 100, 901, {.head_bytes = 1, .tail_bytes = 1}));
  // base + length wraps around to a place inside the file
  EXPECT_FALSE(WindowSource::Read(inner, 100, UINT64_MAX, {.head_bytes = 1, .tail_bytes = 1}));
}

}  // namespace
}  // namespace dcpctl
