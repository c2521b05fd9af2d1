#include "zip/read.h"

#include <gtest/gtest.h>

#include <string>

#include "base/byte_writer.h"
#include "base/crc32.h"
#include "tests/support/result.h"
#include "tests/zip/raw_zip.h"

namespace dcpctl::zip {
namespace {

using test::BytesOf;
using test::TextOf;

const std::string kHello = "hello hello hello hello";
// The same as raw deflate, made with zlib at level 9.
const std::string kDeflatedHello("\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x27\x01", 10);

Result<Directory> Read(const std::string& bytes, const Limits& limits = {}) {
  const MemorySource source = AsSource(bytes);
  return ReadDirectory(source, 0, bytes.size(), limits);
}

// The record of the first entry of a good directory.
Result<std::vector<std::byte>> ReadFirst(const std::string& bytes, uint64_t max_bytes = 1000) {
  const MemorySource source = AsSource(bytes);
  const auto directory = ReadDirectory(source, 0, bytes.size(), Limits{});
  if (!directory) return Fail(directory.error());
  return ReadRecord(source, directory->entries.at(0), max_bytes);
}

template <typename T>
void ExpectError(const Result<T>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result.has_value()) << "expected: " << part;
  EXPECT_EQ(result.error().kind(), kind) << result.error().ToString();
  EXPECT_NE(result.error().ToString().find(part), std::string::npos) << result.error().ToString();
}

std::string Zip64Extra(std::initializer_list<uint64_t> values) {
  ByteWriter out;
  out.U16(0x0001).U16(static_cast<uint16_t>(8 * values.size()));  // id, length
  for (const uint64_t value : values) out.U64(value);
  return std::move(out).Take();
}

struct Zip64End {
  uint64_t size = 44;  // of what follows this field
  uint32_t disk = 0;
  uint64_t disk_entries = 1;
  uint64_t entries = 1;
  uint64_t directory_bytes = 0;
  uint64_t directory_offset = 0;
  uint32_t locator_disk = 0;
  uint64_t end64_offset = 0;
  uint32_t disks = 1;
};

// A zip64 end record and its locator, placed behind the directory of `end`.
std::string Zip64Tail(const RawEnd& end, const std::function<void(Zip64End&)>& tweak = {}) {
  Zip64End fields{.disk_entries = end.entries,
                  .entries = end.entries,
                  .directory_bytes = end.directory_bytes,
                  .directory_offset = end.directory_offset,
                  .end64_offset = uint64_t{end.directory_offset} + end.directory_bytes};
  if (tweak) tweak(fields);
  ByteWriter out;
  out.U32(0x06064b50).U64(fields.size);  // signature, size
  out.U16(45).U16(45);                   // versions
  out.U32(fields.disk).U32(0);           // disks
  out.U64(fields.disk_entries).U64(fields.entries);
  out.U64(fields.directory_bytes).U64(fields.directory_offset);
  out.U32(0x07064b50).U32(fields.locator_disk);  // locator: signature, disk
  out.U64(fields.end64_offset).U32(fields.disks);
  return std::move(out).Take();
}

TEST(ZipRead, ListsRecordsAndReadsThem) {
  const std::string bytes =
      MakeZip({{.name = "a/x", .data = "first"}, {.name = "a/y", .data = "2nd", .local_extra = "\1\2\0\0"}});
  const MemorySource source = AsSource(bytes);
  const auto directory = ReadDirectory(source, 0, bytes.size(), Limits{});
  ASSERT_TRUE(directory) << directory.error().ToString();
  ASSERT_EQ(directory->entries.size(), 2U);
  const Entry& y = directory->entries[1];
  EXPECT_EQ(y.name, "a/y");
  EXPECT_EQ(y.bytes, 3U);
  EXPECT_EQ(y.header_offset, 30U + 3 + 5);
  EXPECT_EQ(y.boundary, directory->directory_offset);
  EXPECT_EQ(directory->entries[0].boundary, y.header_offset);
  EXPECT_EQ(FindPayload(source, y).value(), y.header_offset + 30 + 3 + 2);
  EXPECT_EQ(TextOf(ReadRecord(source, y, 3).value()), "2nd");
  EXPECT_EQ(directory->Find("a/x"), &directory->entries[0]);
  EXPECT_EQ(directory->Find("a/"), nullptr);
}

TEST(ZipRead, OffsetsAreThoseOfTheWholeFile) {
  const std::string inner = MakeZip({{.name = "a/x", .data = "first"}});
  const MemorySource source = AsSource("before" + inner + "PK behind");
  const auto directory = ReadDirectory(source, 6, inner.size(), Limits{});
  ASSERT_TRUE(directory) << directory.error().ToString();
  EXPECT_EQ(directory->entries[0].header_offset, 6U);
  EXPECT_EQ(FindPayload(source, directory->entries[0]).value(), 6U + 30 + 3);
  const auto damaged = ReadDirectory(source, 7, inner.size() - 1, Limits{});
  ExpectError(damaged, ErrorKind::kCorrupt, "test.zip:0x");
}

TEST(ZipRead, RejectsRangePastEndOfFile) {
  const std::string bytes = MakeZip({});
  const MemorySource source = AsSource(bytes);
  ExpectError(ReadDirectory(source, 1, bytes.size(), Limits{}), ErrorKind::kCorrupt, "past the end");
  ExpectError(ReadDirectory(source, 1, UINT64_MAX, Limits{}), ErrorKind::kCorrupt, "past the end");
}

TEST(ZipRead, ReadsEmptyArchive) {
  const auto directory = Read(MakeZip({}));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->entries.empty());
}

TEST(ZipRead, FindsEndRecordBeforeComment) {
  for (const size_t length : {size_t{1}, size_t{30}, size_t{90}, size_t{65535}}) {
    const auto directory = Read(MakeZip({{.name = "x"}}, [&](RawEnd& end) { end.comment = std::string(length, 'c'); }));
    ASSERT_TRUE(directory) << length << directory.error().ToString();
    EXPECT_EQ(directory->entries.size(), 1U);
  }
}

TEST(ZipRead, FindsZip64RecordsBeforeComment) {
  // The end record is then in the first tail that is read, and the locator is not.
  for (const size_t length : {size_t{60}, size_t{70}, size_t{76}, size_t{77}, size_t{5000}}) {
    const auto directory = Read(MakeZip({{.name = "x"}}, [&](RawEnd& end) {
      end.before_end = Zip64Tail(end);
      end.entries = end.disk_entries = 0xffff;
      end.comment = std::string(length, 'c');
    }));
    ASSERT_TRUE(directory) << length << directory.error().ToString();
    EXPECT_EQ(directory->entries.size(), 1U) << length;
  }
}

TEST(ZipRead, SaysWhereTruncatedArchiveWasSearched) {
  const std::string bytes = MakeZip({{.name = "x", .data = std::string(100000, 'd')}});
  ExpectError(
      Read(bytes.substr(0, 90000)), ErrorKind::kCorrupt,
      "test.zip:0x5f7b: error: zip archive is cut off or not a zip archive: no end of central directory record in "
      "the last 65557 of 90000 bytes");
  ExpectError(Read(bytes.substr(0, 5)), ErrorKind::kCorrupt, "in the last 5 of 5 bytes");
  ExpectError(Read(""), ErrorKind::kCorrupt, "in the last 0 of 0 bytes");
}

TEST(ZipRead, RejectsEveryCut) {
  const std::string bytes =
      MakeZip({{.name = "x", .data = "data"}}, [](RawEnd& end) { end.before_end = Zip64Tail(end); });
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(Read(bytes.substr(0, length))) << length;
  EXPECT_TRUE(Read(bytes));
}

TEST(ZipRead, RejectsSeveralDisks) {
  const auto with = [](const std::function<void(RawEnd&)>& tweak) { return Read(MakeZip({{.name = "x"}}, tweak)); };
  ExpectError(with([](RawEnd& end) { end.disk = 1; }), ErrorKind::kCorrupt, "disk 1");
  ExpectError(with([](RawEnd& end) { end.directory_disk = 1; }), ErrorKind::kCorrupt, "several disks");
  ExpectError(with([](RawEnd& end) { end.disk_entries = 0; }), ErrorKind::kCorrupt, "0 of 1 entries");
}

TEST(ZipRead, RejectsBadZip64Records) {
  const auto with = [](const std::function<void(Zip64End&)>& tweak) {
    return Read(MakeZip({{.name = "x"}}, [&](RawEnd& end) { end.before_end = Zip64Tail(end, tweak); }));
  };
  EXPECT_TRUE(with({}));
  ExpectError(with([](Zip64End& end) { end.disks = 2; }), ErrorKind::kCorrupt, "2 disks");
  ExpectError(with([](Zip64End& end) { end.locator_disk = 1; }), ErrorKind::kCorrupt, "disks");
  ExpectError(with([](Zip64End& end) { end.disk = 1; }), ErrorKind::kCorrupt, "disk 1");
  ExpectError(with([](Zip64End& end) { end.end64_offset = UINT64_MAX; }), ErrorKind::kCorrupt, "offset is 0xffff");
  ExpectError(with([](Zip64End& end) { end.end64_offset += 1; }), ErrorKind::kCorrupt, "zip64 end record offset");
  ExpectError(with([](Zip64End& end) { end.end64_offset -= 1; }), ErrorKind::kCorrupt, "signature is");
  ExpectError(with([](Zip64End& end) { end.size = 45; }), ErrorKind::kCorrupt, "size is 45, expected 44 to 44");
  ExpectError(with([](Zip64End& end) { end.size = 43; }), ErrorKind::kCorrupt, "size is 43");
  ExpectError(with([](Zip64End& end) { end.entries = end.disk_entries = 2; }), ErrorKind::kCorrupt,
              "end record says 1 entries");
  ExpectError(with([](Zip64End& end) { end.directory_offset += 1; }), ErrorKind::kCorrupt,
              "expected those of the zip64");
}

TEST(ZipRead, RejectsDirectoryOutsideArchive) {
  const auto with = [](const std::function<void(RawEnd&)>& tweak) { return Read(MakeZip({{.name = "x"}}, tweak)); };
  ExpectError(with([](RawEnd& end) { end.directory_bytes += 1; }), ErrorKind::kCorrupt,
              "expected to end before its end record");
  ExpectError(with([](RawEnd& end) { end.directory_offset = 0xfffffffe; }), ErrorKind::kCorrupt, "at 0xfffffffe");
}

TEST(ZipRead, RejectsMoreEntriesThanFit) {
  ExpectError(Read(MakeZip({{.name = "x"}}, [](RawEnd& end) { end.entries = end.disk_entries = 60000; })),
              ErrorKind::kCorrupt, "says 60000 entries, expected at most 1 in a central directory of 47 bytes");
  ExpectError(Read(MakeZip({{.name = "x", .comment = std::string(46, 'c')}},
                           [](RawEnd& end) { end.entries = end.disk_entries = 2; })),
              ErrorKind::kCorrupt, "input ends in central directory entry signature");
}

TEST(ZipRead, RejectsFewerEntriesThanThereAre) {
  ExpectError(Read(MakeZip({{.name = "x"}, {.name = "y"}}, [](RawEnd& end) { end.entries = end.disk_entries = 1; })),
              ErrorKind::kCorrupt, "47 bytes after its last entry");
}

TEST(ZipRead, KeepsToLimits) {
  const std::string bytes = MakeZip({{.name = "x"}, {.name = "long"}});
  ExpectError(Read(bytes, {.zip_directory_bytes = 96}), ErrorKind::kLimit, "has 97 bytes, expected at most 96");
  ExpectError(Read(bytes, {.entries = 1}), ErrorKind::kLimit, "has 2 entries, expected at most 1");
  ExpectError(Read(bytes, {.name_bytes = 3}), ErrorKind::kLimit, "\"long\" has 4 bytes, expected at most 3");
  EXPECT_TRUE(Read(bytes, {.zip_directory_bytes = 97, .entries = 2, .name_bytes = 4}));
}

TEST(ZipRead, RejectsBadNames) {
  ExpectError(Read(MakeZip({{.name = ""}})), ErrorKind::kCorrupt, "name is empty");
  ExpectError(Read(MakeZip({{.name = std::string("a\0b", 3)}})), ErrorKind::kCorrupt, "NUL");
  ExpectError(Read(MakeZip({{.name = "x"}, {.name = "y"}, {.name = "x"}})), ErrorKind::kCorrupt,
              "\"x\" is in the central directory twice");
}

TEST(ZipRead, RejectsEncryption) {
  for (const int bit : {0, 6, 13}) {
    ExpectError(Read(MakeZip({{.name = "x", .flags = static_cast<uint16_t>(1 << bit)}})), ErrorKind::kCorrupt,
                "encrypted");
  }
}

TEST(ZipRead, RejectsRecordsOutsideOrOverlapping) {
  ExpectError(Read(MakeZip({{.name = "x", .header_offset = 0x7fffffff}})), ErrorKind::kCorrupt, "header at 0x7fffffff");
  ExpectError(Read(MakeZip({{.name = "x", .header_offset = 1}})), ErrorKind::kCorrupt,
              "before the central directory at 0x1f");
  ExpectError(Read(MakeZip({{.name = "x", .data = "d", .compressed = 2}})), ErrorKind::kCorrupt,
              "has 2 bytes behind a header");
  ExpectError(Read(MakeZip({{.name = "x"}, {.name = "y", .header_offset = 0}})), ErrorKind::kCorrupt,
              "overlaps record");
  ExpectError(Read(MakeZip({{.name = "x", .data = "d", .compressed = 2}, {.name = "y"}})), ErrorKind::kCorrupt,
              "record \"x\" ends at 0x21 or later and overlaps record \"y\", expected to end before it at 0x20");
}

TEST(ZipRead, TakesSizesFromZip64Extra) {
  const std::string other("\x34\x12\x02\x00zz", 6);  // a field of another id, before it
  const std::string bytes = MakeZip({{.name = "x",
                                      .data = "data",
                                      .compressed = 0xffffffff,
                                      .bytes = 0xffffffff,
                                      .header_offset = 0xffffffff,
                                      .extra = other + Zip64Extra({4, 4, 0})}});
  const auto directory = Read(bytes);
  ASSERT_TRUE(directory) << directory.error().ToString();
  EXPECT_EQ(directory->entries[0].bytes, 4U);
  EXPECT_EQ(directory->entries[0].compressed_bytes, 4U);
  EXPECT_EQ(directory->entries[0].header_offset, 0U);
  EXPECT_EQ(TextOf(ReadFirst(bytes).value()), "data");
}

TEST(ZipRead, RejectsBadExtraFields) {
  const auto with = [](const std::string& extra) {
    return Read(
        MakeZip({{.name = "x", .data = "d", .bytes = 0xffffffff, .header_offset = 0xffffffff, .extra = extra}}));
  };
  EXPECT_TRUE(with(Zip64Extra({1, 0}) + "pad"));
  ExpectError(with(Zip64Extra({1})), ErrorKind::kCorrupt, "zip64 local header offset");
  ExpectError(with(Zip64Extra({1, UINT64_MAX})), ErrorKind::kCorrupt, "header at 0xffffffffffffffff");
  ExpectError(with(Zip64Extra({1, 0}).substr(0, 19)), ErrorKind::kCorrupt, "extra field data");
  ExpectError(with(""), ErrorKind::kCorrupt, "header at 0xffffffff");
}

TEST(ZipRead, RejectsLocalHeaderThatDisagrees) {
  const RawRecord good{.name = "x", .data = "data"};
  const auto with = [&](const std::function<void(RawRecord&)>& tweak) {
    RawRecord record = good;
    tweak(record);
    return ReadFirst(MakeZip({record}));
  };
  EXPECT_EQ(TextOf(with([](RawRecord&) {}).value()), "data");
  ExpectError(with([](RawRecord& r) { r.local_signature = 0; }), ErrorKind::kCorrupt,
              "test.zip:0x0: error: zip local header signature is 0x00000000, expected 0x04034b50 (record \"x\")");
  ExpectError(with([](RawRecord& r) { r.local_name = "y"; }), ErrorKind::kCorrupt, "is \"y\", expected \"x\"");
  ExpectError(with([](RawRecord& r) { r.local_name = "xy"; }), ErrorKind::kCorrupt,
              "name length in the local header is 2");
  ExpectError(with([](RawRecord& r) { r.local_method = 8; }), ErrorKind::kCorrupt,
              "test.zip:0x8: error: compression method");
  ExpectError(with([](RawRecord& r) { r.local_flags = 1; }), ErrorKind::kCorrupt, "encryption flag");
  ExpectError(with([](RawRecord& r) { r.local_compressed = 3; }), ErrorKind::kCorrupt,
              "compressed size in the local header is 3");
  ExpectError(with([](RawRecord& r) { r.local_bytes = 5; }), ErrorKind::kCorrupt,
              "uncompressed size in the local header is 5");
  EXPECT_TRUE(with([](RawRecord& r) { r.local_bytes = r.local_compressed = 0; }));           // as PyTorch writes it
  EXPECT_TRUE(with([](RawRecord& r) { r.local_bytes = r.local_compressed = 0xffffffff; }));  // in a zip64 field
  EXPECT_TRUE(with([](RawRecord& r) {
    r.flags = 8;  // sizes follow the data
    r.local_bytes = 77;
  }));
}

TEST(ZipRead, RejectsPayloadThatExtraFieldPushesOut) {
  // The directory gives room for 4 bytes behind "x"; the local extra field takes them.
  const RawRecord pushed{.name = "x", .data = "", .compressed = 4, .bytes = 4, .local_extra = "1234"};
  ExpectError(ReadFirst(MakeZip({pushed})), ErrorKind::kCorrupt,
              "test.zip:0x23: error: data of record \"x\" has 4 bytes, expected to end before what follows at 0x23");
  ExpectError(ReadFirst(MakeZip({pushed, {.name = "y"}})), ErrorKind::kCorrupt, "what follows at 0x23");
}

TEST(ZipRead, ReadsDeflated) {
  const RawRecord record{.name = "x",
                         .data = kDeflatedHello,
                         .method = 8,
                         .crc = Crc32(BytesOf(kHello)),
                         .bytes = static_cast<uint32_t>(kHello.size())};
  EXPECT_EQ(TextOf(ReadFirst(MakeZip({record})).value()), kHello);
}

TEST(ZipRead, RejectsDeflatedOfOtherSize) {
  RawRecord record{.name = "x", .data = kDeflatedHello, .method = 8, .crc = 0, .bytes = 24};
  ExpectError(ReadFirst(MakeZip({record})), ErrorKind::kCorrupt, "has 23 decoded bytes, expected 24");
  record.bytes = 22;
  ExpectError(ReadFirst(MakeZip({record})), ErrorKind::kLimit, "larger than 22 bytes");
  record.bytes = 23;
  record.data.pop_back();
  ExpectError(ReadFirst(MakeZip({record})), ErrorKind::kCorrupt, "cut off (record \"x\")");
}

TEST(ZipRead, RejectsStoredOfTwoSizes) {
  ExpectError(ReadFirst(MakeZip({{.name = "x", .data = "data", .bytes = 5}})), ErrorKind::kCorrupt,
              "stored in 4 bytes, expected its 5");
}

TEST(ZipRead, ListsOtherMethodsAndRefusesToReadThem) {
  const std::string bytes = MakeZip({{.name = "x", .data = "data", .method = 93}});
  EXPECT_TRUE(Read(bytes));
  ExpectError(ReadFirst(bytes), ErrorKind::kCorrupt, "compression method 93");
}

TEST(ZipRead, ChecksCrcThatWasComputed) {
  ExpectError(ReadFirst(MakeZip({{.name = "x", .data = "data", .crc = 7}})), ErrorKind::kCorrupt,
              "test.zip:0x1f: error: record \"x\" has CRC-32 0xadf3f363, expected 0x00000007");
  EXPECT_TRUE(ReadFirst(MakeZip({{.name = "x", .data = "data", .crc = 0}})));
}

TEST(ZipRead, RefusesRecordLargerThanAsked) {
  ExpectError(ReadFirst(MakeZip({{.name = "x", .data = "data"}}), 3), ErrorKind::kLimit,
              "has 4 bytes, expected at most 3");
}

}  // namespace
}  // namespace dcpctl::zip
