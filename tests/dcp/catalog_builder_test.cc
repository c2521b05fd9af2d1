#include "dcp/catalog_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "dcp/sample_metadata.h"
#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Catalog CatalogOf(std::vector<SampleMetadata*> ranks) {
  CatalogBuilder builder({});
  for (size_t i = 0; i < ranks.size(); ++i)
    Value(builder.Add(ranks[i]->Finish(), "__" + std::to_string(i) + ".metadata"));
  return Value(std::move(builder).Finish());
}

Error FailureOf(SampleMetadata& sample, const Limits& limits = {}) {
  CatalogBuilder builder(limits);
  return ErrorOf(builder.Add(sample.Finish(), ".metadata"));
}

const Tensor& TensorAt(const Catalog& catalog, const std::string& key) {
  const auto found =
      std::find_if(catalog.tensors.begin(), catalog.tensors.end(), [&](const Tensor& t) { return t.key == key; });
  if (found == catalog.tensors.end()) throw std::runtime_error("no tensor " + key);
  return *found;
}

// "FILE+OFFSET" of each chunk.
std::vector<std::string> Places(const Catalog& catalog, const std::string& key) {
  std::vector<std::string> places;
  for (const Chunk& chunk : catalog.ChunksOf(TensorAt(catalog, key))) {
    places.push_back(chunk.file == kNoFile ? "nowhere"
                                           : catalog.files[chunk.file].path + "+" + std::to_string(chunk.offset));
  }
  return places;
}

std::vector<std::string> FindingIds(const Catalog& catalog) {
  std::vector<std::string> ids;
  for (const Finding& finding : catalog.findings) ids.push_back(finding.id + " " + finding.key);
  return ids;
}

TEST(CatalogBuilder, PlacesChunksWhateverTheOrderOfRecords) {
  const std::vector<std::pair<Ints, Ints>> boxes = {
      {{0, 0}, {2, 3}}, {{0, 3}, {2, 3}}, {{2, 0}, {2, 3}}, {{2, 3}, {2, 3}}};
  std::vector<SampleRecord> records = {{.key = "obj", .offsets = {}, .path = "__1_0.distcp", .offset = 5}};
  for (size_t i = 0; i < boxes.size(); ++i)
    records.push_back(
        {.key = "w", .offsets = boxes[i].first, .path = "__0_0.distcp", .offset = static_cast<int64_t>(10 * i)});
  records.push_back({.key = "v", .offsets = Ints{0}, .path = "__1_0.distcp", .offset = 1});
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.offset > b.offset; });
  for (size_t turn = 0; turn < records.size(); ++turn) {
    std::rotate(records.begin(), records.begin() + 1, records.end());
    SampleMetadata sample;
    sample.AddTensor("w", "float32", {4, 6}, boxes);
    sample.AddObject("obj");
    sample.AddTensor("v", "float32", {2}, {{{0}, {2}}});
    for (const SampleRecord& record : records) sample.AddRecord(record);
    const Catalog catalog = CatalogOf({&sample});
    EXPECT_THAT(Places(catalog, "w"),
                ElementsAre("__0_0.distcp+0", "__0_0.distcp+10", "__0_0.distcp+20", "__0_0.distcp+30"));
    EXPECT_THAT(Places(catalog, "v"), ElementsAre("__1_0.distcp+1"));
    EXPECT_EQ(catalog.objects[0].offset, 5U);
    EXPECT_THAT(catalog.findings, IsEmpty());
  }
}

TEST(CatalogBuilder, KeepsTheOrderOfEntriesAndCountsThem) {
  SampleMetadata sample;
  sample.AddObject("z");
  sample.AddTensor("a", "float32", {2}, {{{0}, {1}}, {{1}, {1}}});
  sample.AddObject("b");
  sample.AddRecord({.key = "z", .offsets = {}, .path = "__3_1.distcp"});
  sample.AddRecord({.key = "a", .offsets = Ints{0}, .path = "__3_1.distcp"});
  sample.AddRecord({.key = "a", .offsets = Ints{1}, .path = "other"});
  sample.AddRecord({.key = "b", .offsets = {}, .path = "other"});
  const Catalog catalog = CatalogOf({&sample});
  std::vector<std::string> keys;
  for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
  EXPECT_THAT(keys, ElementsAre("z", "a", "b"));
  ASSERT_EQ(catalog.files.size(), 2U);
  EXPECT_EQ(catalog.files[0].entries, 2U);
  EXPECT_EQ(catalog.files[0].rank, 3U);
  EXPECT_EQ(catalog.files[0].bucket, 1U);
  EXPECT_TRUE(catalog.files[0].referenced);
  EXPECT_EQ(catalog.files[1].rank, std::nullopt);
}

TEST(CatalogBuilder, PathsComeFromPlannerData) {  // C67
  SampleMetadata sample;
  sample.AddObject("a.b.c");
  sample.AddObject("x.y");
  sample.AddPath("a.b.c", {"a", "b.c"});
  sample.AddPath("of nothing", {"of nothing"});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_TRUE(catalog.nested);
  EXPECT_EQ(catalog.KeyPathOf(catalog.objects[0]), (KeyPath{"a", "b.c"}));
  EXPECT_EQ(catalog.KeyPathOf(catalog.objects[1]), (KeyPath{"x.y"}));
  SampleMetadata flat;
  flat.AddObject("a.b");
  EXPECT_FALSE(CatalogOf({&flat}).nested);
}

TEST(CatalogBuilder, LaterRanksMayNameTheirPathsOtherwise) {
  SampleMetadata first;
  first.AddObject("a.b");
  first.AddObject("c.d");
  first.AddPath("a.b", {"a", "b"});
  first.AddPath("c.d", {"c.d"});
  SampleMetadata second;
  second.AddPath("a.b", {"a.b"});
  second.AddPath("c.d", {"c", "d"});
  const Catalog catalog = CatalogOf({&first, &second});
  EXPECT_EQ(catalog.KeyPathOf(catalog.objects[0]), (KeyPath{"a.b"}));
  EXPECT_EQ(catalog.KeyPathOf(catalog.objects[1]), (KeyPath{"c", "d"}));
}

// A save lists first what its first rank wrote; planner data keeps the order of the state.
TEST(CatalogBuilder, KnowsTheOrderOfTheState) {
  SampleMetadata sample;
  for (const char* key : {"step", "w", "b", "unknown"}) sample.AddObject(key);
  for (const char* key : {"w", "of nothing", "b", "step"}) sample.AddPath(key, {key});
  EXPECT_THAT(CatalogOf({&sample}).state_order, ElementsAre(1, 2, 0));
}

TEST(CatalogBuilder, ReportsWhatHasNoRecord) {  // C12
  SampleMetadata sample;
  sample.AddTensor("w", "float32", {4}, {{{0}, {2}}, {{2}, {2}}});
  sample.AddObject("step");
  sample.AddRecord({.key = "w", .offsets = Ints{0}});
  sample.AddRecord({.key = "gone", .offsets = Ints{0}});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_THAT(FindingIds(catalog),
              ElementsAre("dcp.record-unused gone", "dcp.record-missing w", "dcp.record-missing step"));
  EXPECT_EQ(catalog.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(catalog.findings[1].severity, Severity::kError);
  EXPECT_THAT(catalog.findings[1].message, HasSubstr("chunk [2:4]"));
  EXPECT_THAT(Places(catalog, "w"), ElementsAre("__0_0.distcp+0", "nowhere"));
}

TEST(CatalogBuilder, ReportsRecordsOfNoChunk) {
  SampleMetadata sample;
  sample.AddTensor("w", "float32", {4}, {{{0}, {4}}});
  sample.AddRecord({.key = "w", .offsets = Ints{0}});
  sample.AddRecord({.key = "w", .offsets = Ints{2}, .offset = 9});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_THAT(FindingIds(catalog), ElementsAre("dcp.record-unused w"));
  EXPECT_EQ(catalog.findings[0].offset, 9U);
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("at [2] belongs to no chunk"));
}

TEST(CatalogBuilder, TellsOfCopiesThatLaterRanksHave) {  // C17
  CatalogBuilder builder({});
  for (const char* file : {"__0_0.distcp", "__1_0.distcp"}) {
    SampleMetadata sample;
    sample.AddTensor("replica", "float32", {1}, {{{0}, {1}}});
    sample.AddObject("epoch");
    sample.AddRecord({.key = "replica", .offsets = Ints{0}, .path = file, .offset = 5, .length = 7});
    sample.AddRecord({.key = "epoch", .offsets = {}, .path = file, .offset = 12, .length = 3});
    Value(builder.Add(sample.Finish(), "metadata"));
  }
  const Catalog catalog = Value(std::move(builder).Finish());
  ASSERT_EQ(builder.spare().size(), 2U);
  EXPECT_EQ(catalog.files[builder.spare()[0].file].path, "__1_0.distcp");
  EXPECT_EQ(builder.spare()[0].offset, 5U);
  EXPECT_EQ(builder.spare()[1].length, 3U);
  EXPECT_THAT(catalog.findings, IsEmpty());
}

TEST(CatalogBuilder, ScalarsAndObjectsAreToldApartFromOffsets) {  // C56
  SampleMetadata sample;
  sample.AddTensor("step", "float32", {}, {{{}, {}}});
  sample.AddRecord({.key = "step", .offsets = Ints{}, .offset = 9});
  EXPECT_THAT(Places(CatalogOf({&sample}), "step"), ElementsAre("__0_0.distcp+9"));
}

// A scalar's offset is an empty torch.Size, which old writers turn into None.
TEST(CatalogBuilder, IndexOfAScalarMayLackItsOffset) {
  SampleMetadata sample({.index_has_offset = false});
  sample.AddTensor("step", "float32", {}, {{{}, {}}});
  sample.AddRecord({.key = "step", .offsets = Ints{}, .offset = 9});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_THAT(Places(catalog, "step"), ElementsAre("__0_0.distcp+9"));
  EXPECT_THAT(catalog.findings, IsEmpty());
}

TEST(CatalogBuilder, RefusesUnsafeNames) {  // C29
  for (const char* path : {"../../secret.bin", "/etc/passwd", "a/../../b", "", "a\n", "..", "a/"}) {
    SampleMetadata sample;
    sample.AddTensor("w", "float32", {1}, {{{0}, {1}}});
    sample.AddObject("good");
    sample.AddRecord({.key = "w", .offsets = Ints{0}, .path = path});
    sample.AddRecord({.key = "good", .offsets = {}, .path = "__0_0.distcp"});
    const Catalog catalog = CatalogOf({&sample});
    EXPECT_THAT(FindingIds(catalog), ElementsAre("dcp.path-refused w")) << path;
    EXPECT_EQ(catalog.findings[0].severity, Severity::kError);
    EXPECT_EQ(catalog.findings[0].file, "__0.metadata");
    EXPECT_THAT(Places(catalog, "w"), ElementsAre("nowhere"));
    ASSERT_EQ(catalog.files.size(), 1U);
    EXPECT_EQ(catalog.files[0].path, "__0_0.distcp");
  }
}

// What is wrong with one entry is no reason not to look at others.
TEST(CatalogBuilder, DamagedEntriesAreFindings) {
  SampleMetadata sample;
  sample.AddTensor("rank", "float32", {4, 4, 4}, {{{0, 0, 0}, {4, 4}}});
  sample.AddTensor("negative", "float32", {-4}, {{{0}, {4}}});
  sample.AddTensor("place", "float32", {4}, {{{0}, {4}}});
  sample.AddTensor("dtype", "no_such_dtype", {4}, {{{0}, {4}}});
  sample.AddTensor("good", "float32", {4}, {{{0}, {4}}});
  sample.AddRecord({.key = "rank", .offsets = Ints{0, 0, 0}});
  sample.AddRecord({.key = "place", .offsets = Ints{0}, .offset = -1});
  sample.AddRecord({.key = "good", .offsets = Ints{0}, .offset = 7});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_THAT(FindingIds(catalog), UnorderedElementsAre("dcp.entry-damaged rank", "dcp.entry-damaged negative",
                                                        "dcp.entry-damaged place", "dcp.entry-unsupported dtype"));
  for (const Finding& finding : catalog.findings) {
    EXPECT_EQ(finding.severity, Severity::kError);
    EXPECT_EQ(finding.file, "__0.metadata");
    if (finding.key != "rank") continue;
    EXPECT_EQ(finding.message, "chunk 0 has 3 offsets and 2 sizes, expected 3 of each");
  }
  EXPECT_EQ(catalog.entries.size(), 5U);
  EXPECT_THAT(Places(catalog, "good"), ElementsAre("__0_0.distcp+7"));
  EXPECT_THAT(Places(catalog, "negative"), IsEmpty());
}

TEST(CatalogBuilder, LimitsEntries) {
  SampleMetadata sample;
  sample.AddObject("a");
  sample.AddObject("b");
  EXPECT_EQ(FailureOf(sample, {.entries = 1}).kind(), ErrorKind::kLimit);
}

// A hundred chunks, 10^5 times; and a path of a thousand names of a megabyte, which are one.
TEST(CatalogBuilder, LimitsWhatEntriesShare) {
  SampleMetadata chunks;
  std::vector<std::pair<Ints, Ints>> boxes;
  for (int i = 0; i < 100; ++i) boxes.push_back({{i}, {1}});
  chunks.AddTensor("w", "float32", {100}, boxes);
  pickle::Value root = chunks.Finish();
  pickle::Value entries = *root.state()->Find("state_dict_metadata");
  for (int i = 0; i < 100'000; ++i)
    chunks.document().SetItem(entries, chunks.document().String("k" + std::to_string(i)), entries.value(0));
  CatalogBuilder builder({});
  const Error error = ErrorOf(builder.Add(root, ".metadata"));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_THAT(error.message(), HasSubstr("they share what they hold"));

  SampleMetadata paths;
  paths.AddObject("o");
  paths.AddPath("o", {"o"});
  root = paths.Finish();
  const pickle::Value name = paths.document().String(std::string(size_t{1} << 20, 'n'));
  const pickle::Value path = paths.document().Tuple(std::vector<pickle::Value>(1000, name));
  paths.document().SetItem(*root.state()->Find("planner_data"), paths.document().String("o"), path);
  EXPECT_EQ(ErrorOf(CatalogBuilder({}).Add(root, ".metadata")).kind(), ErrorKind::kLimit);
}

TEST(CatalogBuilder, RefusesRecordsOfTooManyDimensions) {
  SampleMetadata sample;
  sample.AddTensor("w", "float32", {1}, {{{0}, {1}}});
  sample.AddRecord({.key = "w", .offsets = Ints(65, 0)});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_THAT(catalog.findings.at(0).message, HasSubstr("offset has 65 dimensions, expected at most 64"));
}

// Formats that it may become have that limit, too.
TEST(CatalogBuilder, LimitsKeys) {
  SampleMetadata sample;
  sample.AddObject("abc");
  EXPECT_EQ(FailureOf(sample, {.name_bytes = 2}).kind(), ErrorKind::kLimit);
}

TEST(CatalogBuilder, RefusesKeysThatAreNoText) {
  SampleMetadata sample;
  pickle::Document& document = sample.document();
  const pickle::Value entries = document.Dict();
  document.SetItem(entries, document.Int(1), sample.Instance("BytesStorageMetadata", {}));
  CatalogBuilder builder({});
  const Error error = ErrorOf(builder.Add(
      sample.Instance("Metadata", {{"state_dict_metadata", entries}, {"storage_data", document.Dict()}}), ".metadata"));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("key 1 is no str"));
}

TEST(CatalogBuilder, SharesTransformChains) {
  SampleMetadata sample;
  for (const char* key : {"a", "b", "c"}) sample.AddObject(key);
  sample.AddRecord({.key = "a", .offsets = {}, .transforms = {"stream.zstd/1"}});
  sample.AddRecord({.key = "b", .offsets = {}, .transforms = {"stream.zstd/1"}});
  sample.AddRecord({.key = "c", .offsets = {}});
  const Catalog catalog = CatalogOf({&sample});
  EXPECT_EQ(catalog.transform_chains.size(), 2U);
  EXPECT_EQ(catalog.objects[0].transforms, 1U);
  EXPECT_EQ(catalog.objects[1].transforms, 1U);
  EXPECT_EQ(catalog.objects[2].transforms, 0U);
}

// A save without collectives: each rank describes its own part.
TEST(CatalogBuilder, JoinsRanks) {  // C17, C123
  SampleMetadata first;
  first.AddTensor("w", "float32", {4}, {{{0}, {2}}});
  first.AddTensor("replica", "float32", {1}, {{{0}, {1}}});
  first.AddObject("epoch");
  first.AddRecord({.key = "w", .offsets = Ints{0}, .path = "__0_0.distcp", .offset = 1});
  first.AddRecord({.key = "replica", .offsets = Ints{0}, .path = "__0_0.distcp", .offset = 2});
  first.AddRecord({.key = "epoch", .offsets = {}, .path = "__0_0.distcp", .offset = 3});
  first.AddPath("w", {"model", "w"});
  SampleMetadata second;
  second.AddObject("epoch");
  second.AddTensor("replica", "float32", {1}, {{{0}, {1}}});
  second.AddTensor("w", "float32", {4}, {{{2}, {2}}});
  second.AddObject("only here");
  second.AddRecord({.key = "epoch", .offsets = {}, .path = "__1_0.distcp", .offset = 4});
  second.AddRecord({.key = "replica", .offsets = Ints{0}, .path = "__1_0.distcp", .offset = 5});
  second.AddRecord({.key = "w", .offsets = Ints{2}, .path = "__1_0.distcp", .offset = 6});
  second.AddRecord({.key = "only here", .offsets = {}, .path = "__1_0.distcp", .offset = 7});
  second.AddPath("only here", {"only here"});
  const Catalog catalog = CatalogOf({&first, &second});
  EXPECT_THAT(Places(catalog, "w"), ElementsAre("__0_0.distcp+1", "__1_0.distcp+6"));
  EXPECT_THAT(Places(catalog, "replica"), ElementsAre("__0_0.distcp+2"));
  ASSERT_EQ(catalog.objects.size(), 2U);
  EXPECT_EQ(catalog.objects[0].offset, 3U);  // the lowest rank's
  EXPECT_EQ(catalog.objects[1].offset, 7U);
  EXPECT_EQ(catalog.KeyPathOf(TensorAt(catalog, "w")), (KeyPath{"model", "w"}));
  EXPECT_THAT(catalog.findings, IsEmpty());
}

TEST(CatalogBuilder, RanksThatDisagreeAreDamage) {
  for (int what = 0; what < 3; ++what) {
    SampleMetadata first;
    first.AddTensor("w", "float32", {4}, {});
    SampleMetadata second;
    if (what == 0) second.AddTensor("w", "float32", {5}, {});
    if (what == 1) second.AddTensor("w", "float64", {4}, {});
    if (what == 2) second.AddObject("w");
    const Catalog catalog = CatalogOf({&first, &second});
    EXPECT_THAT(FindingIds(catalog), ElementsAre("dcp.entry-damaged w"));
    EXPECT_EQ(catalog.findings[0].file, "__1.metadata");
    EXPECT_THAT(catalog.findings[0].message, HasSubstr("ranks disagree on what it is"));
  }
}

}  // namespace
}  // namespace dcpctl::dcp
