#include "dcp/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const char* const kRoot = "/ckpt";

Catalog Look(MemoryFileSystem& files, const SurveyOptions& options = {}) {
  return Value(SurveyDirectory(files, kRoot, options));
}

std::vector<std::string> Findings(const Catalog& catalog) {
  std::vector<std::string> texts;
  for (const Finding& finding : catalog.findings) texts.push_back(finding.id + " " + finding.file + " " + finding.key);
  return texts;
}

const SourceFile& FileAt(const Catalog& catalog, const std::string& path) {
  const auto found =
      std::find_if(catalog.files.begin(), catalog.files.end(), [&](const SourceFile& f) { return f.path == path; });
  if (found == catalog.files.end()) throw std::runtime_error("no file " + path);
  return *found;
}

// "w" in two files, "step" in the first.
SampleCheckpoint TwoFiles() {
  SampleCheckpoint sample;
  sample.AddTensor(
      "w", {"model", "w"}, {4, 2}, 0,
      {{.offsets = {0, 0}, .sizes = {2, 2}}, {.offsets = {2, 0}, .sizes = {2, 2}, .file = "__1_0.distcp"}});
  sample.AddInt("step", {"step"}, 7);
  return sample;
}

TEST(DcpSurvey, DescribesAWholeCheckpoint) {
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  const Catalog catalog = Look(files);
  EXPECT_EQ(catalog.format, Format::kDcp);
  EXPECT_EQ(catalog.root, kRoot);
  EXPECT_TRUE(catalog.nested);
  EXPECT_THAT(catalog.findings, IsEmpty());
  ASSERT_EQ(catalog.files.size(), 3U);
  EXPECT_EQ(FileAt(catalog, "__1_0.distcp").bytes, files.Contents("/ckpt/__1_0.distcp")->size());
  EXPECT_TRUE(FileAt(catalog, ".metadata").referenced);
  EXPECT_EQ(catalog.metadata_bytes, FileAt(catalog, ".metadata").bytes);
  for (const Chunk& chunk : catalog.chunks) {
    EXPECT_TRUE(chunk.surveyed);
    EXPECT_EQ(chunk.stored.bytes, 16U);
  }
  ASSERT_TRUE(catalog.objects[0].value);
  EXPECT_EQ(pickle::Print(catalog.objects[0].value->document.root()), "7");
}

TEST(DcpSurvey, MetadataDepthOpensNoRecord) {
  MemoryFileSystem files;
  SampleCheckpoint sample = TwoFiles();
  for (auto& byte : sample.file("__1_0.distcp")) byte = '?';
  sample.PutOn(files, kRoot);
  const Catalog catalog = Look(files, {.depth = SurveyDepth::kMetadata});
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_FALSE(catalog.chunks[0].surveyed);
}

TEST(DcpSurvey, ObjectDepthReadsAFewSmallObjectsAndNothingElse) {
  MemoryFileSystem files;
  SampleCheckpoint sample = TwoFiles();
  sample.AddInt("bad", {"bad"}, 8);
  for (auto& byte : sample.file("__1_0.distcp")) byte = '?';
  sample.file("__0_0.distcp").back() = '?';
  sample.PutOn(files, kRoot);
  const Catalog catalog = Look(files, {.depth = SurveyDepth::kObjects});
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_FALSE(catalog.chunks[0].surveyed);
  ASSERT_TRUE(catalog.objects[0].value);
  EXPECT_EQ(pickle::Print(catalog.objects[0].value->document.root()), "7");
  const Catalog none = Look(files, {.depth = SurveyDepth::kObjects, .wanted = [](std::string_view) { return false; }});
  EXPECT_FALSE(none.objects[0].value);
}

TEST(DcpSurvey, ObjectDepthReadsNoneOfManyObjects) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  for (int i = 0; i < 200; ++i) sample.AddInt("o" + std::to_string(i), {"o" + std::to_string(i)}, i);
  sample.PutOn(files, kRoot);
  EXPECT_FALSE(Look(files, {.depth = SurveyDepth::kObjects}).objects[0].value);
  const auto wanted = [](std::string_view key) { return key == "o0" || key == "o1"; };
  const Catalog two = Look(files, {.depth = SurveyDepth::kObjects, .wanted = wanted});
  EXPECT_TRUE(two.objects[0].value);
  EXPECT_FALSE(two.objects[2].value);
}

TEST(DcpSurvey, NamesEveryKeyOfAMissingFile) {  // C08
  MemoryFileSystem files;
  SampleCheckpoint sample = TwoFiles();
  sample.AddTensor("v", {"v"}, {2}, 0, {{.offsets = {0}, .sizes = {2}, .file = "__1_0.distcp"}});
  sample.PutOn(files, kRoot);
  Value(files.RemoveFile("/ckpt/__1_0.distcp"));
  const Catalog catalog = Look(files);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.file-missing __1_0.distcp w", "dcp.file-missing __1_0.distcp v"));
  EXPECT_TRUE(FileAt(catalog, "__1_0.distcp").missing);
  EXPECT_TRUE(catalog.chunks[0].surveyed);
  EXPECT_FALSE(catalog.chunks[1].surveyed);
}

TEST(DcpSurvey, NamesEveryKeyBehindTheEndOfAShortFile) {  // C08
  MemoryFileSystem files;
  SampleCheckpoint sample = TwoFiles();
  const size_t good = sample.file("__1_0.distcp").size();
  sample.AddTensor("v", {"v"}, {2}, 0, {{.offsets = {0}, .sizes = {2}, .file = "__1_0.distcp"}});
  sample.PutOn(files, kRoot);
  const std::string whole = *files.Contents("/ckpt/__1_0.distcp");
  files.Put("/ckpt/__1_0.distcp", whole.substr(0, whole.size() - 1));
  const Catalog catalog = Look(files);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.file-short __1_0.distcp v"));
  EXPECT_EQ(catalog.findings[0].offset, good);
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("has " + std::to_string(whole.size() - 1) +
                                                     " bytes, expected at least " + std::to_string(whole.size())));
  files.Put("/ckpt/__1_0.distcp", "");
  EXPECT_THAT(Findings(Look(files)), ElementsAre("dcp.file-short __1_0.distcp w", "dcp.file-short __1_0.distcp v"));
}

TEST(DcpSurvey, OffsetsThatOverflowAreShortFiles) {
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.metadata().AddObject("o");
  sample.metadata().AddRecord({.key = "o", .offsets = {}, .offset = INT64_MAX, .length = INT64_MAX});
  sample.file("__0_0.distcp") = "x";
  sample.PutOn(files, kRoot);
  EXPECT_THAT(Findings(Look(files)), ElementsAre("dcp.file-short __0_0.distcp o"));
}

TEST(DcpSurvey, LooksIntoSubFolders) {  // C28
  MemoryFileSystem files;
  SampleCheckpoint sample;
  sample.AddTensor("w", {"w"}, {2}, 0, {{.offsets = {0}, .sizes = {2}, .file = "1000000000/epoch_1/__1_0.distcp"}});
  sample.file("1000000000/epoch_2/__2_0.distcp") = "old";
  sample.PutOn(files, kRoot);
  const Catalog catalog = Look(files);
  EXPECT_TRUE(catalog.chunks[0].surveyed);
  EXPECT_EQ(FileAt(catalog, "1000000000/epoch_1/__1_0.distcp").rank, 1U);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.file-unreferenced 1000000000/epoch_2/__2_0.distcp "));
}

TEST(DcpSurvey, WarnsOfStaleFilesButNotOfEmptyOnes) {  // C13, C26
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  files.Put("/ckpt/__4_0.distcp", "stale");
  files.Put("/ckpt/__5_0.distcp", "");
  files.Put("/ckpt/README", "not ours");
  const Catalog catalog = Look(files);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.file-unreferenced __4_0.distcp "));
  EXPECT_EQ(catalog.findings[0].severity, Severity::kWarning);
  EXPECT_FALSE(FileAt(catalog, "__4_0.distcp").referenced);
  EXPECT_EQ(FileAt(catalog, "__5_0.distcp").rank, 5U);
  EXPECT_EQ(catalog.files.size(), 5U);
}

SampleCheckpoint RankPart(int64_t from, const std::string& file) {
  SampleCheckpoint sample;
  const std::string bytes = Floats(2, static_cast<float>(from));
  sample.metadata().AddTensor("w", "float32", {6}, {{{from}, {2}}});
  const std::string record = TensorRecord({2}, bytes);
  sample.metadata().AddRecord(
      {.key = "w", .offsets = Ints{from}, .path = file, .offset = 0, .length = static_cast<int64_t>(record.size())});
  sample.file(file) = record;
  return sample;
}

TEST(DcpSurvey, JoinsTheMetadataOfRanks) {  // C17
  MemoryFileSystem files;
  for (int64_t rank = 0; rank < 3; ++rank) {
    RankPart(2 * rank, "__" + std::to_string(rank) + "_0.distcp")
        .PutOn(files, kRoot, "__" + std::to_string(rank) + ".metadata");
  }
  const Catalog catalog = Look(files);
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_EQ(catalog.tensors.at(0).chunk_count, 3U);
  EXPECT_EQ(catalog.details.back().second, "one file a rank, joined from 3");
  EXPECT_EQ(catalog.files.size(), 6U);
}

TEST(DcpSurvey, WarnsOfGapsInTheRanks) {  // C17
  MemoryFileSystem files;
  for (const int64_t rank : {1, 5})
    RankPart(0, "__" + std::to_string(rank) + "_0.distcp")
        .PutOn(files, kRoot, "__" + std::to_string(rank) + ".metadata");
  const Catalog catalog = Look(files);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.rank-missing __1.metadata ", "dcp.rank-missing __5.metadata "));
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("rank 0 is not there"));
  EXPECT_THAT(catalog.findings[1].message, HasSubstr("ranks 2 to 4 is not there"));
}

TEST(DcpSurvey, SortsRanksByNumber) {
  MemoryFileSystem files;
  for (const int64_t rank : {2, 10}) {
    SampleCheckpoint sample;
    sample.AddObject(
        "rank", {}, [rank](pickle::Document& d) { return d.Int(rank); }, {}, "__" + std::to_string(rank) + "_0.distcp");
    sample.PutOn(files, kRoot, "__" + std::to_string(rank) + ".metadata");
  }
  const Catalog catalog = Look(files);
  ASSERT_EQ(catalog.objects.size(), 1U);
  EXPECT_EQ(pickle::Print(catalog.objects[0].value->document.root()), "2");
}

TEST(DcpSurvey, GlobalMetadataWinsOverThatOfRanks) {
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  files.Put("/ckpt/__0.metadata", "left over");
  EXPECT_THAT(Look(files).findings, IsEmpty());
}

TEST(DcpSurvey, UnknownTransformIsDamageOfItsKeyAlone) {  // C36
  MemoryFileSystem files;
  SampleCheckpoint sample = TwoFiles();
  sample.AddRaw("sealed", "float32", {2}, "????", {"com.acme.seal/1"});
  sample.PutOn(files, kRoot);
  const Catalog catalog = Look(files);
  EXPECT_THAT(Findings(catalog), ElementsAre("dcp.transform-unknown __0_0.distcp sealed"));
  EXPECT_THAT(catalog.findings[0].message, HasSubstr("\"com.acme.seal/1\""));
}

TEST(DcpSurvey, FailsWithoutMetadata) {
  MemoryFileSystem files;
  files.Put("/ckpt/__0_0.distcp", "x");
  EXPECT_EQ(ErrorOf(SurveyDirectory(files, kRoot, {})).kind(), ErrorKind::kNotFound);
}

TEST(DcpSurvey, LimitsTheSizeOfMetadata) {
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  const Error error = ErrorOf(SurveyDirectory(files, kRoot, {.limits = {.pickle_bytes = 10}}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_EQ(error.place().file, "/ckpt/.metadata");
}

TEST(DcpSurvey, RefusesMetadataThatCallsOut) {  // C31
  MemoryFileSystem files;
  SampleCheckpoint sample({.overrides = {{"Metadata.*", [](pickle::Document& d) {
                                            return d.Call(d.Global("os", "system"), {d.String("true")});
                                          }}}});
  sample.PutOn(files, kRoot);
  const Error error = ErrorOf(SurveyDirectory(files, kRoot, {}));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(error.place().offset);
  EXPECT_THAT(error.message(), HasSubstr("os.system"));
}

// A short read, an unreadable file: every call in turn fails, and none is taken for a good checkpoint.
TEST(DcpSurvey, EveryFailureOfTheFileSystemIsReported) {
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  files.SetFaults({});
  Value(SurveyDirectory(files, kRoot, {.jobs = 1}));
  const size_t calls = files.calls().size();
  ASSERT_GT(calls, 5U);
  for (uint64_t call = 0; call < calls; ++call) {
    files.SetFaults({.fail_call = call});
    const auto catalog = SurveyDirectory(files, kRoot, {.jobs = 1});
    const bool reported = !catalog || std::any_of(catalog->findings.begin(), catalog->findings.end(),
                                                  [](const Finding& f) { return f.severity == Severity::kError; });
    EXPECT_TRUE(reported) << "call " << call << " of " << calls << ": " << files.calls()[call];
  }
}

TEST(DcpSurvey, StopsWhenAsked) {
  MemoryFileSystem files;
  TwoFiles().PutOn(files, kRoot);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ErrorOf(SurveyDirectory(files, kRoot, {.stop = stop.get_token()})).kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace dcpctl::dcp
