#include "torch/legacy_storages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/result.h"
#include "tests/torch/sample_stream.h"
#include "tests/zip/raw_zip.h"

namespace dcpctl::torch {
namespace {

using pickle::Document;
using test::ErrorOf;
using test::Value;

// The storages of a stream, in front of which are this many bytes.
constexpr uint64_t kFront = 5;

class Sample {
 public:
  Document document;
  std::vector<std::string> keys;
  bool little_endian = true;

  void Mention(const std::string& storage_class, const std::string& key, int64_t items,
               const std::optional<SampleView>& view = std::nullopt) {
    MakeStorageId(document, storage_class, key, items, view);
  }
  void Store(const std::string& key, uint64_t count, const std::string& data) {
    keys.push_back(key);
    bytes_ += CountBytes(count) + data;
  }
  void StoreBytes(const std::string& key, const std::string& bytes) {
    keys.push_back(key);
    bytes_ += bytes;
  }

  Result<LegacyStorages> Make() {
    source_ = zip::AsSource(std::string(kFront, '#') + bytes_);
    return LegacyStorages::Make(source_, document, {.keys = keys, .offset = kFront, .little_endian = little_endian});
  }
  Result<StoredTensor> Find(const std::string& key) { return Value(Make()).Find(key); }
  std::string Read(const std::string& key) {
    const StoredTensor stored = Value(Find(key));
    return test::TextOf(Value(ReadRange(source_, stored.offset, stored.bytes)));
  }

 private:
  std::string bytes_;
  MemorySource source_{"", {}};
};

void ExpectText(const Error& error, ErrorKind kind, const std::string& part) {
  EXPECT_EQ(error.kind(), kind) << error.ToString();
  EXPECT_NE(error.ToString().find(part), std::string::npos) << error.ToString();
  EXPECT_EQ(error.place().file, "test.zip");
}

TEST(LegacyStorages, FollowTheListOfKeys) {
  Sample sample;
  sample.Mention("FloatStorage", "a", 2);
  sample.Mention("CharStorage", "b", 3);
  sample.Mention("UntypedStorage", "c", 4);
  sample.Mention("DoubleStorage", "d", 0);
  sample.Mention("FloatStorage", "a", 2);  // two tensors share it
  sample.Store("c", 4, "four");
  sample.Store("a", 2, "two*four");
  sample.Store("d", 0, "");
  sample.Store("b", 3, "abc");
  EXPECT_EQ(sample.Read("a"), "two*four");
  EXPECT_EQ(sample.Read("b"), "abc");
  EXPECT_EQ(sample.Read("c"), "four");
  EXPECT_EQ(sample.Read("d"), "");
  const LegacyStorages storages = Value(sample.Make());
  EXPECT_EQ(storages.count(), 4U);
  EXPECT_EQ(storages.end(), kFront + 4 * 8 + 15);
  const StoredTensor stored = Value(storages.Find("a"));
  EXPECT_EQ(stored.offset, kFront + 12 + 8);
  EXPECT_EQ(stored.codec, Codec::kNone);
  EXPECT_FALSE(stored.crc_known);
  EXPECT_FALSE(stored.big_endian);
}

TEST(LegacyStorages, CountMustBeThatOfThePickle) {
  Sample sample;
  sample.Mention("FloatStorage", "a", 2);
  sample.Store("a", 3, "two*four");
  const Error error = ErrorOf(sample.Find("a"));
  ExpectText(error, ErrorKind::kCorrupt, "storage \"a\" begins with 3 as its number of items, expected 2");
  EXPECT_EQ(error.place().offset, kFront);
}

TEST(LegacyStorages, MustLieInsideTheFile) {
  for (const size_t cut : {1U, 8U, 9U, 15U}) {
    Sample sample;
    sample.Mention("CharStorage", "a", 8);
    sample.StoreBytes("a", (CountBytes(8) + "12345678").substr(0, 16 - cut));
    const Error error = ErrorOf(sample.Find("a"));
    ExpectText(error, ErrorKind::kCorrupt,
               "file ends after " + std::to_string(kFront + 16 - cut) + " bytes, expected at least " +
                   std::to_string(kFront + 16));
    EXPECT_EQ(error.place().offset, kFront);
  }
}

TEST(LegacyStorages, HugeSizesAllocateNothing) {
  Sample sample;
  sample.Mention("CharStorage", "a", INT64_MAX);
  sample.Mention("CharStorage", "b", 1);
  sample.Store("a", INT64_MAX, "x");
  sample.keys.emplace_back("b");
  ExpectText(ErrorOf(sample.Find("a")), ErrorKind::kCorrupt, "it is truncated");
  ExpectText(ErrorOf(sample.Find("b")), ErrorKind::kCorrupt, "it is truncated");
  sample.Mention("DoubleStorage", "c", INT64_MAX);
  sample.keys.emplace_back("c");
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "expected a size that fits 64 bits");
}

TEST(LegacyStorages, SumOfSizesMustFit) {
  Sample sample;
  for (const char* key : {"a", "b", "c"}) {
    sample.Mention("CharStorage", key, INT64_MAX);
    sample.keys.emplace_back(key);
  }
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "expected a size that fits 64 bits");
}

TEST(LegacyStorages, ListAndIdsMustAgree) {
  Sample twice;
  twice.Mention("CharStorage", "a", 1);
  twice.Store("a", 1, "x");
  twice.Store("a", 1, "x");
  ExpectText(ErrorOf(twice.Make()), ErrorKind::kCorrupt, "\"a\" is in the list of storages twice");
  Sample unknown;
  unknown.Store("a", 1, "x");
  ExpectText(ErrorOf(unknown.Make()), ErrorKind::kCorrupt, "expected only those that the state refers to");
  Sample missing;
  missing.Mention("CharStorage", "a", 1);
  missing.Mention("CharStorage", "b", 1);
  missing.Store("b", 1, "x");
  EXPECT_EQ(missing.Read("b"), "x");
  ExpectText(ErrorOf(missing.Find("a")), ErrorKind::kCorrupt, "\"a\" is missing in the list of storages");
  ExpectText(ErrorOf(missing.Find("z")), ErrorKind::kCorrupt, "\"z\" is missing in the list of storages");
}

TEST(LegacyStorages, IdsMayNotContradictEachOther) {
  for (const auto& [storage_class, items] : {std::pair("FloatStorage", 3), {"ShortStorage", 2}, {"CharStorage", 8}}) {
    Sample sample;
    sample.Mention("FloatStorage", "a", 2);
    sample.Mention(storage_class, "a", items);
    ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "as another mention of it says");
  }
  Sample bytes;  // a tensor of bytes and its untyped storage
  bytes.Mention("ByteStorage", "a", 2);
  bytes.Mention("UntypedStorage", "a", 2);
  bytes.Store("a", 2, "xy");
  EXPECT_EQ(bytes.Read("a"), "xy");
}

TEST(LegacyStorages, RefuseIdsThatSayNoSize) {
  Sample sample;
  sample.Mention("StringStorage", "a", 2);
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kUnsupported, "torch.StringStorage");
  sample.document = Document();
  sample.Mention("FloatStorage", "a", -1);
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "is -1, expected 0 or more");
  sample.document = Document();
  sample.document.PersistentId(sample.document.Int(3));
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "persistent id is of type int");
}

TEST(LegacyStorages, ViewsArePartsOfTheirRoot) {
  Sample sample;
  sample.Mention("ShortStorage", "root", 5, SampleView{"view", 1, 3});
  sample.Mention("ShortStorage", "root", 5, SampleView{"empty", 5, 0});
  sample.Mention("ShortStorage", "root", 5);
  sample.Mention("ShortStorage", "root", 5, SampleView{"root", 0, 5});  // of itself
  sample.Store("root", 5, "aabbccddee");
  EXPECT_EQ(sample.Read("root"), "aabbccddee");
  EXPECT_EQ(sample.Read("view"), "bbccdd");
  EXPECT_EQ(sample.Read("empty"), "");
  EXPECT_EQ(Value(sample.Make()).count(), 1U);
}

TEST(LegacyStorages, ViewsNeedTheWholeRoot) {
  Sample sample;
  sample.Mention("ShortStorage", "root", 5, SampleView{"view", 0, 1});
  sample.StoreBytes("root", CountBytes(5) + "aabbccdde");
  ExpectText(ErrorOf(sample.Find("view")), ErrorKind::kCorrupt, "where storage \"view\" ends");
}

TEST(LegacyStorages, RejectBadViews) {
  for (const SampleView& view : {SampleView{"v", 3, 3}, SampleView{"v", 6, 0}, SampleView{"v", INT64_MAX, INT64_MAX}}) {
    Sample sample;
    sample.Mention("ShortStorage", "root", 5, view);
    ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "expected at most the 5 of storage \"root\"");
  }
  for (const SampleView& view : {SampleView{"v", -1, 1}, SampleView{"v", 0, -1}}) {
    Sample sample;
    sample.Mention("ShortStorage", "root", 5, view);
    ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "expected 0 or more");
  }
  Sample two;
  two.Mention("ShortStorage", "root", 5, SampleView{"v", 0, 1});
  two.Mention("ShortStorage", "root", 5, SampleView{"v", 1, 1});
  ExpectText(ErrorOf(two.Make()), ErrorKind::kCorrupt, "as another mention of it says");
  Sample part;
  part.Mention("ShortStorage", "root", 5, SampleView{"root", 1, 1});
  ExpectText(ErrorOf(part.Make()), ErrorKind::kCorrupt, "as another mention of it says");
  Sample listed;  // a view has no data of its own
  listed.Mention("ShortStorage", "root", 5, SampleView{"v", 0, 1});
  listed.Store("v", 1, "aa");
  ExpectText(ErrorOf(listed.Make()), ErrorKind::kCorrupt, "expected only those that the state refers to");
}

TEST(LegacyStorages, RejectsViewOfOtherType) {
  Sample sample;
  Document& d = sample.document;
  d.PersistentId(d.Tuple({d.String("storage"), d.Global("torch", "CharStorage"), d.String("a"), d.String("cpu"),
                          d.Int(1), d.Tuple({d.Int(1), d.Int(0), d.Int(1)})}));
  ExpectText(ErrorOf(sample.Make()), ErrorKind::kCorrupt, "expected None or (key, offset, size)");
}

TEST(LegacyStorages, OfBigEndianMachinesHaveLittleEndianElements) {
  Sample sample;
  sample.little_endian = false;
  sample.Mention("FloatStorage", "a", 1);
  sample.Mention("FloatStorage", "old", 1);
  sample.Mention("ComplexFloatStorage", "c", 1);
  sample.Mention("UntypedStorage", "u", 4);
  sample.Store("a", 1, "four");
  std::string reversed = CountBytes(1);
  std::reverse(reversed.begin(), reversed.end());
  sample.StoreBytes("old", reversed + "FOUR");
  sample.Store("c", 1, "eight...");
  sample.Store("u", 4, "four");
  EXPECT_EQ(sample.Read("a"), "four");
  EXPECT_EQ(sample.Read("old"), "FOUR");
  EXPECT_FALSE(Value(sample.Find("a")).big_endian);
  ExpectText(ErrorOf(sample.Find("c")), ErrorKind::kUnsupported, "complex64 items of a big-endian machine");
  ExpectText(ErrorOf(sample.Find("u")), ErrorKind::kUnsupported, "untyped items of a big-endian machine");
  sample.little_endian = true;
  EXPECT_EQ(ErrorOf(sample.Find("old")).kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace dcpctl::torch
