#include "zip/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/crc32.h"
#include "support/result.h"
#include "zip/format.h"
#include "zip/raw_zip.h"

namespace dcpctl::zip {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

const std::string kData = "some data";

std::string Little(uint64_t value, size_t width) {
  std::string bytes;
  for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

std::string Descriptor(bool signature, size_t width, uint32_t crc, uint64_t bytes) {
  return (signature ? Little(kDescriptorSignature, 4) : "") + Little(crc, 4) + Little(bytes, width) +
         Little(bytes, width);
}

// Of the first record of an archive; what follows its data goes into the gap before the second.
Result<RecordSpan> SpanOf(RawRecord record, const std::string& after) {
  RawRecord next{.name = "next"};
  record.compressed = static_cast<uint32_t>(record.data.size());
  record.bytes = record.compressed;
  if (!record.crc) record.crc = Crc32(test::BytesOf(record.data));
  record.data += after;
  const MemorySource source = AsSource(MakeZip({record, next}));
  const Directory directory = Value(ReadDirectory(source, 0, source.size(), {}));
  return FindSpan(source, directory.entries[0]);
}

RawRecord WithDescriptor() {
  return {.name = "a", .data = kData, .local_flags = kFlagDescriptor, .local_compressed = 0, .local_bytes = 0};
}

TEST(ZipSpan, EndsWithTheData) {
  const RecordSpan span = Value(SpanOf({.name = "a", .data = kData}, ""));
  EXPECT_EQ(span.payload, kLocalFixedBytes + 1);
  EXPECT_EQ(span.end, span.payload + kData.size());
}

TEST(ZipSpan, EndsWithADescriptorOfAnyForm) {
  const uint32_t crc = Crc32(test::BytesOf(kData));
  for (const bool signature : {false, true}) {
    for (const size_t width : {size_t{4}, size_t{8}}) {
      const std::string descriptor = Descriptor(signature, width, crc, kData.size());
      const RecordSpan span = Value(SpanOf(WithDescriptor(), descriptor));
      EXPECT_EQ(span.end, span.payload + kData.size() + descriptor.size());
    }
  }
}

TEST(ZipSpan, RefusesDescriptorsThatDiffer) {
  const uint32_t crc = Crc32(test::BytesOf(kData));
  for (const std::string& descriptor :
       {Descriptor(true, 8, crc + 1, kData.size()), Descriptor(true, 8, crc, kData.size() + 1), std::string(),
        std::string(11, '\0'), std::string(24, '\0')}) {
    const Error error = ErrorOf(SpanOf(WithDescriptor(), descriptor));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_THAT(error.Text(), HasSubstr("data descriptor of record \"a\""));
    EXPECT_EQ(error.place().offset, kLocalFixedBytes + 1 + kData.size());
  }
}

// What the local header of MakeZip has is the directory's; here the directory has another.
TEST(ZipSpan, RefusesAnotherLocalChecksum) {
  std::string zip = MakeZip({{.name = "a", .data = kData}});
  constexpr size_t kLocalCrc = 4 + 5 * 2;
  ASSERT_NE(zip.substr(kLocalCrc, 4), std::string(4, '\0'));
  zip[kLocalCrc] ^= 1;
  const MemorySource source = AsSource(zip);
  const Directory directory = Value(ReadDirectory(source, 0, source.size(), {}));
  EXPECT_THAT(ErrorOf(FindSpan(source, directory.entries[0])).Text(), HasSubstr("CRC-32 in the local header"));
}

}  // namespace
}  // namespace dcpctl::zip
