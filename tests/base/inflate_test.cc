#include "base/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "tests/support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::TextOf;
using test::Value;

std::string Deflate(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Long, and not all alike.
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

// Decodes [offset, offset + length) of `file`.
Result<std::string> Decode(const std::string& file, uint64_t offset, uint64_t length, uint64_t max_decoded = 1 << 30) {
  const MemorySource source = AsSource(file);
  std::string decoded;
  const auto count =
      DecodeDeflate(source, offset, length, max_decoded, [&](std::span<const std::byte> piece) -> Result<void> {
        decoded += TextOf(piece);
        return {};
      });
  EXPECT_LE(decoded.size(), max_decoded);
  if (!count) return Fail(count.error());
  EXPECT_EQ(*count, decoded.size());
  return decoded;
}

TEST(Inflate, DecodesRange) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{1000}, size_t{1000000}}) {
    const std::string text = Sample(length);
    const std::string encoded = Deflate(text);
    EXPECT_TRUE(Value(Decode("before" + encoded + "behind", 6, encoded.size(), length)) == text) << length;
  }
}

TEST(Inflate, RejectsMoreThanAsked) {
  const std::string encoded = Deflate(std::string(10000000, 'z'));
  const Error error = ErrorOf(Decode(encoded, 0, encoded.size(), 9999999));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_NE(error.message().find("larger than 9999999 bytes"), std::string::npos) << error.ToString();
  EXPECT_TRUE(Decode(encoded, 0, encoded.size(), 10000000));
}

TEST(Inflate, RejectsEveryCut) {
  const std::string encoded = Deflate(Sample(100));
  for (size_t length = 0; length < encoded.size(); ++length) {
    const Error error = ErrorOf(Decode(encoded, 0, length));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_NE(error.message().find("cut off"), std::string::npos) << error.ToString();
    EXPECT_EQ(error.place().offset, length);
  }
}

TEST(Inflate, RejectsBytesBehindTheStream) {
  const std::string encoded = Deflate("text");
  const Error error = ErrorOf(Decode(encoded + "xyz", 0, encoded.size() + 3));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().offset, encoded.size());
  EXPECT_NE(error.message().find("ends 3 bytes before"), std::string::npos) << error.ToString();
}

TEST(Inflate, RejectsBadData) {
  const Error error = ErrorOf(Decode(std::string(100, '\xff'), 0, 100));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_NE(error.message().find("bad deflate data: invalid block type"), std::string::npos) << error.ToString();
}

TEST(Inflate, RejectsRangePastTheEnd) {
  const std::string encoded = Deflate("text");
  EXPECT_FALSE(Decode(encoded, 1000, 10));
  EXPECT_FALSE(Decode(encoded, 0, UINT64_MAX));
}

TEST(Inflate, PassesErrorsOfTheSinkOn) {
  const std::string encoded = Deflate(Sample(1000000));
  const MemorySource source = AsSource(encoded);
  int calls = 0;
  const auto count = DecodeDeflate(source, 0, encoded.size(), 1 << 30, [&](std::span<const std::byte>) -> Result<void> {
    ++calls;
    return Fail(ErrorKind::kCancelled, "enough");
  });
  EXPECT_EQ(ErrorOf(count).kind(), ErrorKind::kCancelled);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dcpctl
