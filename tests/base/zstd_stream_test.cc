#include "base/zstd_stream.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "tests/support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::TextOf;
using test::Value;

// One frame, as python-zstandard's stream writer makes it: no content size, no checksum.
std::string Frame(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string frame(ZSTD_compressBound(text.size()) + 100, '\0');
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  while (in.pos < in.size) ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0U);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

std::string Sample(size_t length) {
  std::string text;
  for (uint32_t i = 0, state = 1; i < length; ++i) {
    state = state * 1664525 + 1013904223;
    text += static_cast<char>(i % 3 == 0 ? 'a' : state >> 24);
  }
  return text;
}

MemorySource AsSource(const std::string& text) {
  const auto bytes = test::BytesOf(text);
  return MemorySource("f", {bytes.begin(), bytes.end()});
}

Result<std::string> Decode(const std::string& file, uint64_t offset, uint64_t length, uint64_t max_decoded = 1 << 30) {
  const MemorySource source = AsSource(file);
  std::string decoded;
  const auto count =
      DecodeZstd(source, offset, length, max_decoded, [&](std::span<const std::byte> piece) -> Result<void> {
        decoded += TextOf(piece);
        return {};
      });
  EXPECT_LE(decoded.size(), max_decoded);
  if (!count) return Fail(count.error());
  EXPECT_EQ(*count, decoded.size());
  return decoded;
}

TEST(ZstdStream, DecodesRange) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{1000}, size_t{131072}, size_t{1000000}}) {
    const std::string text = Sample(length);
    const std::string frame = Frame(text);
    EXPECT_TRUE(Value(Decode("before" + frame + "behind", 6, frame.size(), length)) == text) << length;
  }
}

TEST(ZstdStream, JoinsFrames) {
  const std::string frames = Frame("one") + Frame("") + Frame("two");
  EXPECT_EQ(Value(Decode(frames, 0, frames.size())), "onetwo");
}

TEST(ZstdStream, RejectsMoreThanAsked) {
  const std::string frame = Frame(std::string(100000000, 'z'));
  EXPECT_LT(frame.size(), 20000U);
  const Error error = ErrorOf(Decode(frame, 0, frame.size(), 1000));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_NE(error.message().find("larger than 1000 bytes"), std::string::npos) << error.ToString();
  EXPECT_TRUE(Decode(Frame("1234"), 0, Frame("1234").size(), 4));
  EXPECT_FALSE(Decode(Frame("1234"), 0, Frame("1234").size(), 3));
  // also when the excess is in a later frame
  EXPECT_FALSE(Decode(Frame("1234") + Frame("5"), 0, Frame("1234").size() + Frame("5").size(), 4));
}

TEST(ZstdStream, RejectsEveryCut) {
  const std::string frame = Frame(Sample(1000));
  for (size_t length = 0; length < frame.size(); ++length) {
    const Error error = ErrorOf(Decode(frame, 0, length));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt) << error.ToString();
    EXPECT_TRUE(error.place().offset.has_value());
  }
  EXPECT_NE(ErrorOf(Decode(frame, 0, frame.size() - 1)).message().find("cut off"), std::string::npos);
}

TEST(ZstdStream, RejectsBytesBehindTheFrame) {
  const std::string frame = Frame("text");
  for (const std::string& behind : {std::string("x"), std::string("not a frame"), std::string("\x28\xb5\x2f\xfd")}) {
    const Error error = ErrorOf(Decode(frame + behind, 0, frame.size() + behind.size()));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt) << error.ToString();
  }
  EXPECT_EQ(ErrorOf(Decode(frame + "not a frame", 0, frame.size() + 11)).place().offset, frame.size());
}

TEST(ZstdStream, RejectsBadData) {
  std::string frame = Frame(Sample(1000));
  frame[4] = static_cast<char>(frame[4] | 0x08);  // a bit that is reserved
  const Error error = ErrorOf(Decode(frame, 0, frame.size()));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.ToString(), "f:0x0: error: bad zstd data: Unsupported frame parameter");
}

// Of zstd 0.5, which Debian's library would decode.
TEST(ZstdStream, RejectsFramesOfOldVersions) {
  const std::string frame("\x25\xb5\x2f\xfd\x01\xdf\xf8\xb7", 8);
  const Error error = ErrorOf(Decode(frame, 0, frame.size()));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.message(), "zstd frame begins with 0xfd2fb525, expected 0xfd2fb528");
}

TEST(ZstdStream, RejectsHugeWindow) {
  // Magic number, a descriptor without content size, and a window of 2^30 bytes.
  const std::string header("\x28\xb5\x2f\xfd\x00\xa0", 6);
  const Error error = ErrorOf(Decode(header + std::string(20, '\0'), 0, 26));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit) << error.ToString();
  EXPECT_NE(error.message().find("window is larger than 134217728 bytes"), std::string::npos) << error.ToString();
}

TEST(ZstdStream, RejectsRangePastTheEnd) {
  const std::string frame = Frame("text");
  EXPECT_FALSE(Decode(frame, 1000, 10));
  EXPECT_FALSE(Decode(frame, 0, UINT64_MAX));
}

TEST(ZstdStream, PassesErrorsOfTheSinkOn) {
  const std::string frame = Frame(Sample(1000000));
  const MemorySource source = AsSource(frame);
  int calls = 0;
  const auto count = DecodeZstd(source, 0, frame.size(), 1 << 30, [&](std::span<const std::byte>) -> Result<void> {
    ++calls;
    return Fail(ErrorKind::kCancelled, "enough");
  });
  EXPECT_EQ(ErrorOf(count).kind(), ErrorKind::kCancelled);
  EXPECT_EQ(calls, 1);
}

// Appends `text` in pieces of `step` bytes.
EdgeSource Filled(const std::string& text, uint64_t edge_bytes, size_t step) {
  EdgeSource source("f", edge_bytes);
  for (size_t i = 0; i < text.size(); i += step) source.Append(test::BytesOf(std::string_view(text).substr(i, step)));
  return source;
}

TEST(EdgeSource, KeepsBothEnds) {
  const std::string text = Sample(1000);
  for (const size_t step : {size_t{1}, size_t{7}, size_t{64}, size_t{100}, size_t{999}, size_t{1000}}) {
    const EdgeSource source = Filled(text, 64, step);
    EXPECT_EQ(source.size(), 1000U);
    EXPECT_EQ(TextOf(Value(ReadRange(source, 0, 64))), text.substr(0, 64)) << step;
    EXPECT_EQ(TextOf(Value(ReadRange(source, 936, 64))), text.substr(936)) << step;
    EXPECT_EQ(TextOf(Value(ReadRange(source, 950, 3))), text.substr(950, 3)) << step;
  }
}

TEST(EdgeSource, KeepsAllOfShortStream) {
  for (const size_t length : {size_t{0}, size_t{63}, size_t{64}, size_t{65}, size_t{127}, size_t{128}}) {
    const std::string text = Sample(length);
    const EdgeSource source = Filled(text, 64, 10);
    EXPECT_EQ(TextOf(Value(ReadRange(source, 0, length))), text) << length;
  }
}

TEST(EdgeSource, RefusesTheMiddle) {
  const EdgeSource source = Filled(Sample(1000), 64, 10);
  for (const auto& [offset, length] :
       {std::pair(64, 1), std::pair(935, 1), std::pair(935, 65), std::pair(60, 10), std::pair(0, 1000)}) {
    const Error error = ErrorOf(ReadRange(source, static_cast<uint64_t>(offset), static_cast<uint64_t>(length)));
    EXPECT_EQ(error.kind(), ErrorKind::kLimit) << offset;
    EXPECT_NE(error.message().find("in the middle of a decoded stream of 1000 bytes"), std::string::npos);
  }
}

// Of streams with and without a middle, every range.
TEST(EdgeSource, SaysWhatItHas) {
  for (const size_t length : {size_t{0}, size_t{5}, size_t{8}, size_t{13}, size_t{16}, size_t{17}, size_t{40}}) {
    const EdgeSource source = Filled(Sample(length), 8, 3);
    for (uint64_t offset = 0; offset <= length + 1; ++offset) {
      for (uint64_t count = 0; count <= length + 1; ++count) {
        std::vector<std::byte> out(count);
        EXPECT_EQ(source.Has(offset, count), source.ReadAt(offset, out).has_value())
            << offset << " + " << count << " of " << length;
      }
    }
  }
  EXPECT_FALSE(Filled(Sample(5), 8, 3).Has(1, UINT64_MAX));
}

TEST(EdgeSource, RejectsReadPastTheEnd) {
  const EdgeSource source = Filled(Sample(100), 64, 10);
  EXPECT_EQ(ErrorOf(ReadRange(source, 99, 2)).kind(), ErrorKind::kCorrupt);
  std::byte out[2];
  EXPECT_EQ(ErrorOf(source.ReadAt(99, out)).kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace dcpctl
