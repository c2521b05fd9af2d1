#include "base/zstd_writer.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <string>

#include "base/zstd_frames.h"
#include "base/zstd_stream.h"
#include "tests/support/result.h"

namespace dcpctl {
namespace {

using test::TextOf;
using test::Value;

// Some of it compresses, some does not; larger than several of the pieces that threads take.
std::string Content(size_t length) {
  std::string text;
  for (uint32_t i = 0, state = 1; i < length; ++i) {
    state = state * 1664525 + 1013904223;
    text += static_cast<char>(i % 3 == 0 ? 'a' : state >> 24);
  }
  return text;
}

struct Way {
  int level = 3;
  unsigned threads = 1;
  size_t piece = 1 << 20;
};

// Two frames, the second of the text backwards.
std::string Encode(const std::string& text, const Way& way) {
  ZstdWriter writer = Value(ZstdWriter::Make(way.level, way.threads));
  std::string out;
  const auto sink = [&out](std::span<const std::byte> bytes) {
    out += TextOf(bytes);
    return Result<void>();
  };
  for (const std::string& frame : {text, std::string(text.rbegin(), text.rend())}) {
    EXPECT_TRUE(writer.Begin(frame.size()));
    for (size_t pos = 0; pos < frame.size(); pos += way.piece) {
      const auto bytes = std::as_bytes(std::span(frame));
      EXPECT_TRUE(writer.Write(bytes.subspan(pos, std::min(way.piece, bytes.size() - pos)), sink));
    }
    EXPECT_TRUE(writer.End(sink));
  }
  return out;
}

std::string Decode(const std::string& encoded) {
  const auto bytes = test::BytesOf(encoded);
  const MemorySource source("f", {bytes.begin(), bytes.end()});
  EXPECT_TRUE(CheckZstdFrames(source, 0, encoded.size()));
  std::string decoded;
  Value(DecodeZstd(source, 0, encoded.size(), 1 << 30, [&](std::span<const std::byte> piece) -> Result<void> {
    decoded += TextOf(piece);
    return {};
  }));
  return decoded;
}

TEST(ZstdWriter, WritesFramesThatDecode) {
  for (const size_t length : {0U, 1U, 1000U, 700'000U, 5'000'000U}) {
    const std::string text = Content(length);
    for (const int level : {1, 3, 19}) {
      if (level == 19 && length > 1'000'000) continue;  // slow
      EXPECT_EQ(Decode(Encode(text, {.level = level})), text + std::string(text.rbegin(), text.rend()))
          << length << " bytes, level " << level;
    }
  }
}

TEST(ZstdWriter, DependsOnNeitherThreadsNorPieces) {
  const std::string text = Content(5'000'000);
  const std::string expected = Encode(text, {});
  EXPECT_LT(expected.size(), 2 * text.size());
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const size_t piece : {size_t{4099}, size_t{1} << 20, text.size()})
      EXPECT_EQ(Encode(text, {.threads = threads, .piece = piece}), expected) << threads << " threads, " << piece;
  }
}

TEST(ZstdWriter, SaysHowLongAFrameIsAndSumsIt) {
  const std::string text = Content(1000);
  std::string encoded = Encode(text, {});
  EXPECT_EQ(ZSTD_getFrameContentSize(encoded.data(), encoded.size()), text.size());
  std::string out(text.size(), '\0');
  const size_t first = ZSTD_findFrameCompressedSize(encoded.data(), encoded.size());
  EXPECT_FALSE(ZSTD_isError(ZSTD_decompress(out.data(), out.size(), encoded.data(), first)));
  encoded[first - 1] ^= 2;  // of the checksum
  EXPECT_TRUE(ZSTD_isError(ZSTD_decompress(out.data(), out.size(), encoded.data(), first)));
}

TEST(ZstdWriter, PassesOnTheSinksError) {
  ZstdWriter writer = Value(ZstdWriter::Make(3, 1));
  const auto full = [](std::span<const std::byte>) -> Result<void> { return Fail(ErrorKind::kIo, "full"); };
  ASSERT_TRUE(writer.Begin(3));
  const auto written = writer.Write(std::as_bytes(std::span("abc", 3)), full);
  const auto ended = writer.End(full);
  EXPECT_TRUE(!written || !ended);
}

}  // namespace
}  // namespace dcpctl
