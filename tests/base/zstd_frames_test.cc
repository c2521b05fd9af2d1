#include "base/zstd_frames.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "tests/support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;

MemorySource AsSource(const std::string& text) {
  const auto bytes = test::BytesOf(text);
  return MemorySource("f", {bytes.begin(), bytes.end()});
}

// Bytes that compress badly, so that there are blocks of several types.
std::string Sample(size_t length) {
  std::string text;
  for (uint32_t i = 0, state = 1; i < length; ++i) {
    state = state * 1664525 + 1013904223;
    text += static_cast<char>(i < length / 2 ? 0 : state >> 24);
  }
  return text;
}

std::string Frame(const std::string& text, bool checksum = false, bool content_size = true) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, content_size ? 1 : 0);
  std::string frame(ZSTD_compressBound(text.size()) + 100, '\0');
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

Result<void> Check(const std::string& bytes) {
  const MemorySource source = AsSource("xx" + bytes + "yy");
  return CheckZstdFrames(source, 2, bytes.size());
}

TEST(ZstdFrames, AcceptsWholeFrames) {
  for (const size_t length : {0U, 1U, 200U, 300U, 70'000U, 600'000U}) {
    for (const bool checksum : {false, true}) {
      for (const bool size : {false, true}) {
        const std::string frame = Frame(Sample(length), checksum, size);
        EXPECT_TRUE(Check(frame)) << length;
        EXPECT_TRUE(Check(frame + frame)) << length;
      }
    }
  }
  EXPECT_TRUE(Check(std::string("\x50\x2a\x4d\x18\x03\0\0\0abc", 11) + Frame("a")));  // a skippable frame
}

TEST(ZstdFrames, FindsEveryCut) {
  const std::string frame = Frame(Sample(3000), true);
  for (size_t length = 0; length < frame.size(); ++length) {
    EXPECT_EQ(ErrorOf(Check(frame.substr(0, length))).kind(), ErrorKind::kCorrupt) << length;
  }
}

TEST(ZstdFrames, FindsWhatFollows) {
  const std::string frame = Frame(Sample(3000));
  EXPECT_EQ(ErrorOf(Check(frame + "x")).place().offset, 2 + frame.size());
  EXPECT_EQ(ErrorOf(Check(frame + "something else")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(Check("no frame at all")).place().offset, 2U);
}

}  // namespace
}  // namespace dcpctl
