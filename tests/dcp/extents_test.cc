#include "dcp/extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::dcp {
namespace {

using test::MemoryFileSystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kRoot = "/ckpt";
const char* const kDamaged = "dcp.record-damaged";
const char* const kDiffers = "dcp.record-differs";

Catalog Look(SampleCheckpoint& sample, MemoryFileSystem& files, const SurveyOptions& options = {}) {
  sample.PutOn(files, kRoot);
  return test::Value(SurveyDirectory(files, kRoot, options));
}

// The one finding of a checkpoint whose "w", float32 [2, 3], is `record`.
std::string DamageOf(const std::string& record, const Ints& shape = {2, 3}, const std::string& id = kDamaged) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("w", "float32", shape, record);
  const Catalog catalog = Look(sample, files);
  if (catalog.findings.size() != 1) return std::to_string(catalog.findings.size()) + " findings";
  const Finding& finding = catalog.findings[0];
  EXPECT_EQ(finding.id, id);
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.key, "w");
  EXPECT_EQ(finding.file, "__0_0.distcp");
  EXPECT_FALSE(catalog.chunks[0].surveyed);
  return finding.message;
}

TEST(Extents, FindsTheElements) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddInt("first", {"first"}, 1);  // so that the archive is not at the start of the file
  sample.AddTensor("w", {"w"}, {2, 3}, 10);
  const Catalog catalog = Look(sample, files);
  EXPECT_THAT(catalog.findings, IsEmpty());
  const StoredTensor& stored = catalog.chunks[0].stored;
  EXPECT_EQ(files.Contents("/ckpt/__0_0.distcp")->substr(stored.offset, stored.bytes), Floats(6, 10));
  EXPECT_TRUE(stored.crc_known);
  const DimsView strides = catalog.StridesOf(catalog.tensors[0], catalog.chunks[0]);
  EXPECT_THAT(std::vector<uint64_t>(strides.begin(), strides.end()), ElementsAre(3, 1));
}

TEST(Extents, HonoursViewsOfALargerStorage) {  // C61
  pickle::Document document;
  const torch::SampleTensor view{.items = 20, .offset = 3, .shape = {2, 3}, .strides = {1, 4}};
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("w", "float32", {2, 3}, torch::SaveTorch(torch::MakeSample(document, view), {Floats(20)}));
  const Catalog catalog = Look(sample, files);
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_EQ(catalog.chunks[0].stored.first_element, 3U);
  EXPECT_EQ(catalog.chunks[0].stored.bytes, 80U);
  const DimsView strides = catalog.StridesOf(catalog.tensors[0], catalog.chunks[0]);
  EXPECT_THAT(std::vector<uint64_t>(strides.begin(), strides.end()), ElementsAre(1, 4));
}

TEST(Extents, RecordsThatAreAnotherTensorAreDamage) {  // C12, C51
  EXPECT_EQ(DamageOf(TensorRecord({3, 2}, Floats(6)), {2, 3}, kDiffers),
            "the stored tensor is float32 [3, 2], expected float32 [2, 3] (chunk [0:2, 0:3])");
  EXPECT_EQ(DamageOf(TensorRecord({2, 3}, Floats(6), "IntStorage"), {2, 3}, kDiffers),
            "the stored tensor is int32 [2, 3], expected float32 [2, 3] (chunk [0:2, 0:3])");
  EXPECT_EQ(DamageOf(TensorRecord({6}, Floats(6)), {2, 3}, kDiffers),
            "the stored tensor is float32 [6], expected float32 [2, 3] (chunk [0:2, 0:3])");
}

TEST(Extents, StoragesThatAreTooSmallAreDamage) {  // C47
  pickle::Document document;
  const torch::SampleTensor claims{.items = 6, .shape = {2, 3}, .strides = {3, 1}};
  EXPECT_THAT(DamageOf(torch::SaveTorch(torch::MakeSample(document, claims), {Floats(5)})), HasSubstr("20 bytes"));
  const torch::SampleTensor leaves{.items = 5, .shape = {2, 3}, .strides = {3, 1}};
  EXPECT_NE(DamageOf(torch::SaveTorch(torch::MakeSample(document, leaves), {Floats(5)})), "0 findings");
}

TEST(Extents, OtherValuesAreNamed) {  // C54
  pickle::Document document;
  EXPECT_THAT(DamageOf(torch::SaveTorch(torch::MakeCall(document, "acme_quant", "rebuild", {document.Int(1)}), {}),
                       {2, 3}, "dcp.record-unsupported"),
              HasSubstr("\"acme_quant.rebuild\""));
  EXPECT_EQ(DamageOf(torch::SaveTorch(document.Int(1), {}), {2, 3}, kDiffers),
            "the stored value is of type int, expected a tensor (chunk [0:2, 0:3])");
}

TEST(Extents, BytesThatAreNoArchiveAreDamage) {
  EXPECT_NE(DamageOf("no archive at all, but long enough to hold an end record"), "0 findings");
  EXPECT_NE(DamageOf(""), "0 findings");
  std::string cut = TensorRecord({2, 3}, Floats(6));
  EXPECT_NE(DamageOf(cut.substr(0, cut.size() - 3)), "0 findings");
}

TEST(Extents, ShapesThatOverflowAreDamage) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(DamageOf(TensorRecord({1, 1}, Floats(1)), {huge, huge}), HasSubstr("more than 2^64 bytes"));
}

// Nothing is stored of an empty box, so nothing has to be there.
TEST(Extents, EmptyBoxesNeedNoRecord) {  // C57
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("w", "float32", {0, 5}, "nothing that can be read");
  EXPECT_THAT(Look(sample, files).findings, IsEmpty());
}

TEST(Extents, ReadsZstdRecords) {  // C35
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddTensor("w", {"w"}, {100}, 5, {{.offsets = {0}, .sizes = {100}, .zstd = true}});
  const Catalog catalog = Look(sample, files);
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_EQ(catalog.chunks[0].stored.codec, Codec::kZstd);
  EXPECT_EQ(catalog.chunks[0].stored.bytes, 400U);
  EXPECT_EQ(TensorRecord({100}, Floats(100, 5)).substr(catalog.chunks[0].stored.offset, 400), Floats(100, 5));
}

std::string ZstdDamage(const std::string& packed) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("w", "float32", {4}, packed, {"stream.zstd/1"});
  const Catalog catalog = Look(sample, files);
  return catalog.findings.empty() ? "" : catalog.findings[0].id + ": " + catalog.findings[0].message;
}

TEST(Extents, StopsAtBombs) {  // C34
  EXPECT_THAT(ZstdDamage(CompressZstd(std::string(64 << 20, '\0'))), HasSubstr("decoded record is larger than"));
}

TEST(Extents, DamagedZstdRecordsAreFindings) {
  const std::string packed = CompressZstd(TensorRecord({4}, Floats(4)));
  EXPECT_EQ(ZstdDamage(packed), "");
  EXPECT_THAT(ZstdDamage(packed.substr(0, packed.size() - 5)), HasSubstr("dcp.record-damaged: zstd frame is cut off"));
  EXPECT_THAT(ZstdDamage("no zstd frame"), HasSubstr("dcp.record-damaged"));
}

TEST(Extents, KnowsVersionsOfZstd) {
  EXPECT_TRUE(CanDecode({}));
  EXPECT_TRUE(CanDecode({"stream.zstd/1"}));
  EXPECT_TRUE(CanDecode({"stream.zstd/1.5"}));
  EXPECT_FALSE(CanDecode({"stream.zstd/2"}));
  EXPECT_FALSE(CanDecode({"stream.zstd/10"}));
  EXPECT_FALSE(CanDecode({"stream.zstd"}));
  EXPECT_FALSE(CanDecode({"stream.zstd/1", "stream.zstd/1"}));
  EXPECT_FALSE(CanDecode({"com.acme.seal/1"}));
}

// Who checks gets every archive, also of boxes that hold nothing, and need not wait for decoders.
TEST(Extents, HooksSeeEveryArchive) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddTensor("w", {"w"}, {2});
  sample.AddTensor("empty", {"empty"}, {0, 3});
  sample.AddTensor("packed", {"packed"}, {4}, 0, {{.offsets = {0}, .sizes = {4}, .zstd = true}});
  sample.AddInt("step", {"step"}, 1);
  sample.PutOn(files, kRoot);
  for (const bool decode : {false, true}) {
    std::vector<std::string> seen;
    const RecordHooks hooks{
        .on_archive =
            [&](EntryRef entry, uint32_t file, const ByteSource&, const zip::Directory& directory, bool decoded) {
              EXPECT_EQ(file, 0U);
              EXPECT_FALSE(directory.entries.empty());
              seen.push_back((entry.is_tensor ? "tensor " : "object ") + std::to_string(entry.index) +
                             (decoded ? " decoded" : ""));
            },
        .decode = decode};
    const Catalog catalog = test::Value(SurveyDirectory(files, kRoot, {.jobs = 1}, {.records = hooks}));
    EXPECT_THAT(catalog.findings, IsEmpty());
    EXPECT_EQ(catalog.chunks[2].surveyed, decode);
    std::vector<std::string> expected = {"tensor 0", "tensor 1", "object 0"};
    if (decode) expected.insert(expected.begin() + 2, "tensor 2 decoded");
    EXPECT_EQ(seen, expected);
  }
}

TEST(Extents, HooksFindCutStreamsWithoutDecoding) {
  const std::string packed = CompressZstd(TensorRecord({4}, Floats(4)));
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("w", "float32", {4}, packed.substr(0, packed.size() - 1), {"stream.zstd/1"});
  sample.PutOn(files, kRoot);
  const Catalog catalog = test::Value(SurveyDirectory(files, kRoot, {}, {.records = {.decode = false}}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("zstd frame is cut off"));
}

TEST(Extents, RefusesObjectsThatCallOut) {  // C31
  const auto attack = [](pickle::Document& d) { return d.Call(d.Global("os", "system"), {d.String("true")}); };
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddObject("evil", {"evil"}, attack);
  const Catalog catalog = Look(sample, files);
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "dcp.refused-name");
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("os.system"));
  EXPECT_FALSE(catalog.objects[0].value);
  SampleCheckpoint again;
  again.AddObject("evil", {"evil"}, attack);
  const Catalog allowed = Look(again, files, {.allow_globals = {"os.system"}});
  EXPECT_THAT(allowed.findings, IsEmpty());
  EXPECT_TRUE(allowed.objects[0].value);
}

TEST(Extents, LeavesUnwantedEntriesAlone) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddRaw("broken", "float32", {2}, "?");
  sample.AddTensor("good", {}, {2});
  const Catalog catalog = Look(sample, files, {.wanted = [](std::string_view key) { return key == "good"; }});
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_FALSE(catalog.chunks[0].surveyed);
  EXPECT_TRUE(catalog.chunks[1].surveyed);
}

TEST(Extents, FindingsDoNotDependOnThreads) {
  for (const unsigned jobs : {1U, 8U}) {
    MemoryFileSystem files;
    SampleCheckpoint sample;
    for (int i = 0; i < 40; ++i) sample.AddRaw("w" + std::to_string(i), "float32", {2}, "?");
    const Catalog catalog = Look(sample, files, {.jobs = jobs});
    ASSERT_EQ(catalog.findings.size(), 40U);
    for (size_t i = 0; i < 40; ++i) EXPECT_EQ(catalog.findings[i].key, "w" + std::to_string(i));
  }
}

}  // namespace
}  // namespace dcpctl::dcp
