#include "torch/legacy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/result.h"
#include "tests/torch/real_files.h"
#include "tests/torch/sample_archive.h"
#include "tests/torch/sample_stream.h"
#include "tests/zip/raw_zip.h"
#include "torch/survey.h"

namespace dcpctl::torch {
namespace {

using pickle::Document;
using test::ErrorOf;
using test::Value;

// {"w": a tensor of 2 floats, "n": 1, "o": (a tensor of 3 bytes,)}.
SampleStream SmallStream() {
  Document document;
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("w"),
                   MakeSample(document, {.key = "10", .items = 2, .shape = {2}, .strides = {1}}));
  document.SetItem(root, document.String("n"), document.Int(1));
  const SampleTensor bytes{.storage_class = "ByteStorage", .key = "9", .items = 3, .shape = {3}, .strides = {1}};
  document.SetItem(root, document.String("o"), document.Tuple({MakeSample(document, bytes)}));
  return MakeStream(root, {{.key = "10", .count = 2, .data = "two*four"}, {.key = "9", .count = 3, .data = "abc"}});
}

Error OpenError(const SampleStream& stream) {
  const MemorySource source = zip::AsSource(Join(stream));
  return ErrorOf(OpenLegacy(source, Limits{}));
}

void ExpectRefused(const SampleStream& stream, ErrorKind kind, const std::string& part) {
  const Error error = OpenError(stream);
  EXPECT_EQ(error.kind(), kind) << error.ToString();
  EXPECT_EQ(error.place().file, "test.zip");
  EXPECT_TRUE(error.place().offset.has_value());
  EXPECT_NE(error.ToString().find(part), std::string::npos) << error.ToString();
}

std::string Text(const std::string& text) {
  return PickleOf([&](Document& document) { return document.String(text); });
}

TEST(TorchLegacy, OpensAStream) {
  const SampleStream sample = SmallStream();
  const MemorySource source = zip::AsSource(Join(sample));
  const LegacyStream stream = Value(OpenLegacy(source, Limits{}));
  EXPECT_TRUE(stream.little_endian);
  EXPECT_EQ(stream.state.offset, sample.magic.size() + sample.version.size() + sample.info.size());
  EXPECT_EQ(stream.state.bytes, sample.state.size());
  EXPECT_EQ(stream.storages.end(), source.size());
  const StoredTensor stored = Value(stream.storages.Find("9"));
  EXPECT_EQ(test::TextOf(Value(ReadRange(source, stored.offset, stored.bytes))), "abc");
}

TEST(TorchLegacy, OpensRealFiles) {
  for (const RealFile& file : LegacyFiles()) {
    SCOPED_TRACE(file.path);
    EXPECT_TRUE(IsLegacyStream(test::BytesOf(file.bytes).first(100)));
    const MemorySource source = zip::AsSource(file.bytes);
    const LegacyStream stream = Value(OpenLegacy(source, Limits{}));
    const std::string name = file.path.filename().string();
    EXPECT_EQ(stream.storages.end() == source.size(), name != "two.legacy.pt");
    EXPECT_EQ(stream.little_endian, name != "big_endian.legacy.pt" && name != "unknown_order.legacy.pt");
  }
}

TEST(TorchLegacy, IsKnownByItsMagicNumber) {
  const std::string bytes = Join(SmallStream());
  EXPECT_TRUE(IsLegacyStream(test::BytesOf(bytes)));
  EXPECT_TRUE(IsLegacyStream(test::BytesOf(SmallStream().magic)));
  EXPECT_FALSE(IsLegacyStream(test::BytesOf(bytes.substr(0, SmallStream().magic.size() - 1))));
  EXPECT_FALSE(IsLegacyStream({}));
  EXPECT_FALSE(IsLegacyStream(test::BytesOf(SmallStream().version)));
  EXPECT_FALSE(IsLegacyStream(test::BytesOf("PK\x03\x04 and more")));
}

TEST(TorchLegacy, RefusesOtherPickles) {
  SampleStream stream = SmallStream();
  stream.magic = Text("magic");
  ExpectRefused(stream, ErrorKind::kCorrupt, "file begins with a pickle of type str, expected the magic number");
  stream = SmallStream();
  stream.version = PickleOf([](Document& document) { return document.Int(1000); });
  ExpectRefused(stream, ErrorKind::kUnsupported, "protocol version is 1000, expected 1001");
  stream.version = Text("1001");
  ExpectRefused(stream, ErrorKind::kCorrupt, "protocol version is of type str, expected 1001");
  stream = SmallStream();
  stream.info = Text("info");
  ExpectRefused(stream, ErrorKind::kCorrupt, "facts about the machine are of type str, expected a dict");
  stream.info = PickleOf([](Document& document) {
    const pickle::Value info = document.Dict();
    document.SetItem(info, document.String("little_endian"), document.Int(1));
    return info;
  });
  ExpectRefused(stream, ErrorKind::kCorrupt, "little_endian is of type int, expected a bool");
  stream = SmallStream();
  stream.keys = Text("keys");
  ExpectRefused(stream, ErrorKind::kCorrupt, "list of storages is of type str, expected a list");
  stream.keys = PickleOf([](Document& document) {
    const pickle::Value keys = document.List();
    document.Append(keys, document.String("10"));
    document.Append(keys, document.Int(9));
    return keys;
  });
  ExpectRefused(stream, ErrorKind::kCorrupt, "item 1 in the list of storages is of type int, expected a string");
}

TEST(TorchLegacy, NeedsNoFactsAboutTheMachine) {
  SampleStream stream = SmallStream();
  stream.info = PickleOf([](Document& document) { return document.Dict(); });
  const MemorySource source = zip::AsSource(Join(stream));
  EXPECT_TRUE(Value(OpenLegacy(source, Limits{})).little_endian);
}

TEST(TorchLegacy, SaysInWhichPickleDamageIs) {
  SampleStream stream = SmallStream();
  stream.state = "\x80\x02\xff.";
  ExpectRefused(stream, ErrorKind::kCorrupt, "in the pickle of the state");
  stream = SmallStream();
  stream.keys = "\x80\x02]q";
  stream.storages.clear();
  ExpectRefused(stream, ErrorKind::kCorrupt, "in the pickle of the list of storages");
}

TEST(TorchLegacy, AnEmptyStateHasNoStorages) {
  Document document;
  const MemorySource source = zip::AsSource(Join(MakeStream(document.Dict(), {})));
  const Catalog catalog = Value(SurveyTorchLegacy(source, {}));
  EXPECT_TRUE(catalog.entries.empty());
  EXPECT_TRUE(catalog.findings.empty());
}

bool HasError(const Catalog& catalog) {
  return std::any_of(catalog.findings.begin(), catalog.findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

// Every tensor that the survey vouches for lies inside the file.
void ExpectInside(const Catalog& catalog, uint64_t file_bytes) {
  for (const Chunk& chunk : catalog.chunks) {
    if (!chunk.surveyed) continue;
    EXPECT_LE(chunk.stored.offset + chunk.stored.bytes, file_bytes);
  }
  for (const Object& object : catalog.objects) {
    if (!object.value) continue;
    for (const ObjectStorage& storage : object.value->storages)
      EXPECT_LE(storage.stored.offset + storage.stored.bytes, file_bytes);
  }
}

TEST(TorchLegacy, CutAnywhereIsAnErrorWithItsPlace) {
  const SampleStream stream = SmallStream();
  const std::string whole = Join(stream);
  EXPECT_FALSE(HasError(Value(SurveyTorchLegacy(zip::AsSource(whole), {}))));
  const size_t storages_begin = whole.size() - 16 - 11;
  for (size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    const MemorySource source = zip::AsSource(whole.substr(0, length));
    const auto catalog = SurveyTorchLegacy(source, {});
    EXPECT_EQ(catalog.has_value(), length >= storages_begin);
    if (!catalog) {
      EXPECT_EQ(catalog.error().kind(), ErrorKind::kCorrupt);
      EXPECT_EQ(catalog.error().place().file, "test.zip");
      EXPECT_LE(catalog.error().place().offset.value_or(UINT64_MAX), length);
      const std::string text = catalog.error().ToString();
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      continue;
    }
    // The storages are cut: what they belong to is damaged, and the file is called truncated at any depth.
    ExpectInside(*catalog, length);
    const auto truncated = std::count_if(catalog->findings.begin(), catalog->findings.end(),
                                         [](const Finding& finding) { return finding.id == "torch.truncated"; });
    EXPECT_EQ(truncated, 1);
    EXPECT_EQ(catalog->objects.at(1).value, nullptr);
    EXPECT_EQ(catalog->chunks.at(0).surveyed, length >= storages_begin + 16);
    EXPECT_TRUE(HasError(Value(SurveyTorchLegacy(source, {.depth = SurveyDepth::kMetadata}))));
  }
}

TEST(TorchLegacy, AnyChangedByteEndsInOrder) {
  const std::string whole = Join(SmallStream());
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 0x20, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const MemorySource source = zip::AsSource(changed);
      const auto catalog = SurveyTorchLegacy(source, {});
      if (catalog) {
        ExpectInside(*catalog, changed.size());
      } else {
        EXPECT_NE(catalog.error().kind(), ErrorKind::kInternal);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, whole.size());
}

TEST(TorchLegacy, RealFilesCutOrChangedEndInOrder) {
  for (const RealFile& file : LegacyFiles()) {
    if (file.path.parent_path().parent_path().filename() != "torch-2.13.0-legacy") continue;
    for (size_t length = 0; length < file.bytes.size(); length += 7) {
      const MemorySource source = zip::AsSource(file.bytes.substr(0, length));
      const auto catalog = SurveyTorchLegacy(source, {.jobs = 1});
      if (catalog) ExpectInside(*catalog, length);
      std::string changed = file.bytes;
      changed[length] = static_cast<char>(~changed[length]);
      const MemorySource changed_source = zip::AsSource(changed);
      const auto other = SurveyTorchLegacy(changed_source, {.jobs = 1});
      if (other) ExpectInside(*other, changed.size());
    }
  }
}

}  // namespace
}  // namespace dcpctl::torch
