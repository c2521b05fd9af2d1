#include "ops/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kRoot = "/ckpt";
const char* const kFile = "/ckpt/__0_0.distcp";

class VerifySample : public testing::Test {
 protected:
  void SetUp() override {
    sample_.AddTensor("w", {"w"}, {4}, 0,
                      {{.offsets = {0}, .sizes = {2}}, {.offsets = {2}, .sizes = {2}, .file = "__1_0.distcp"}});
    sample_.AddTensor("packed", {"packed"}, {100}, 7, {{.offsets = {0}, .sizes = {100}, .zstd = true}});
    sample_.AddTensor("empty", {"empty"}, {0, 3});
    sample_.AddInt("step", {"step"}, 3);
    sample_.PutOn(files_, kRoot);
  }

  VerifyReport Run(VerifyLevel level = VerifyLevel::kStructure, VerifyOptions options = {}) {
    options.level = level;
    options.settle_ms = 0;
    return Value(Verify(files_, kRoot, options));
  }
  // "severity id key", in the report's order.
  std::vector<std::string> Found(VerifyLevel level = VerifyLevel::kStructure, const VerifyOptions& options = {}) {
    report_ = Run(level, options);
    std::vector<std::string> texts;
    for (const Finding& f : report_.findings)
      texts.push_back(std::string(Name(f.severity)) + " " + f.id + (f.key.empty() ? "" : " " + f.key));
    return texts;
  }
  void Change(const std::string& path, const std::function<void(std::string&)>& change) {
    std::string bytes = *files_.Contents(path);
    change(bytes);
    files_.Put(path, bytes);
  }

  MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  VerifyReport report_;
};

TEST_F(VerifySample, NothingIsFoundInASoundOne) {
  for (const VerifyLevel level : {VerifyLevel::kStructure, VerifyLevel::kPayload}) {
    EXPECT_THAT(Found(level), IsEmpty());
    EXPECT_TRUE(report_.ok);
    EXPECT_EQ(report_.totals.tensors, 3U);
    EXPECT_EQ(report_.totals.objects, 1U);
    EXPECT_EQ(report_.totals.chunks, 4U);
    EXPECT_EQ(report_.totals.files, 3U);
    EXPECT_EQ(report_.ranks, 2U);
    EXPECT_EQ(report_.totals.used_bytes,
              files_.Contents(kFile)->size() + files_.Contents("/ckpt/__1_0.distcp")->size());
    EXPECT_EQ(report_.totals.padding_bytes + report_.totals.orphan_bytes, 0U);
  }
  EXPECT_EQ(report_.totals.checked_storages, 3U);
  EXPECT_EQ(report_.totals.unknown_checksums, 0U);
}

// Not found are those in bytes of zip headers without a meaning: dates, versions, attributes, and the padding that
// aligns storages, which are a third of archives as small as these.
TEST_F(VerifySample, FlippedBitsAreFoundInTheFileThatHasThem) {
  const std::string good = *files_.Contents(kFile);
  size_t missed = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    files_.Put(kFile, bad);
    const VerifyReport report = Run(VerifyLevel::kPayload);
    missed += report.ok ? 1 : 0;
    for (const Finding& finding : report.findings) {
      if (finding.severity == Severity::kNote) continue;
      EXPECT_EQ(finding.file, "__0_0.distcp") << i << finding.message;
    }
  }
  EXPECT_LT(missed, good.size() * 2 / 5);
}

TEST_F(VerifySample, DamageOfOneEntryHidesNoOther) {
  Value(files_.RemoveFile("/ckpt/__1_0.distcp"));
  Change(kFile, [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  EXPECT_THAT(Found(), ElementsAre("error dcp.file-missing w", "error dcp.file-short step"));
  EXPECT_FALSE(report_.ok);
  EXPECT_EQ(report_.totals.errors, 2U);
}

TEST_F(VerifySample, TellsWhatBytesAreFor) {
  const std::string record = dcp::TensorRecord({2}, dcp::Floats(2));
  const uint64_t size = files_.Contents(kFile)->size();
  Change(kFile, [&](std::string& bytes) { bytes += std::string(100, '\0'); });
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(report_.totals.padding_bytes, 100U);
  Change(kFile, [&](std::string& bytes) { bytes += record + record; });
  EXPECT_THAT(Found(), ElementsAre("warning dcp.orphan-archive"));
  EXPECT_EQ(report_.findings[0].offset, size + 100);
  EXPECT_EQ(report_.totals.orphan_bytes, 2 * record.size());
  EXPECT_TRUE(report_.ok);
  EXPECT_FALSE(Run(VerifyLevel::kStructure, {.strict = true}).ok);
  Change(kFile, [&](std::string& bytes) { bytes.back() = 'x'; });
  Change(kFile, [&](std::string& bytes) { bytes += "junk"; });
  EXPECT_THAT(Found(), ElementsAre("warning dcp.stray-bytes"));
}

TEST_F(VerifySample, StaleFilesAndUnfinishedSavesAreWarnings) {  // C13, C26
  files_.Put("/ckpt/__7_0.distcp", "left over");
  files_.Put("/ckpt/__8_0.distcp", "");
  files_.Put("/ckpt/.metadata.tmp", "half");
  EXPECT_THAT(Found(), ElementsAre("warning dcp.file-unreferenced", "warning dcp.unfinished-metadata"));
}

TEST_F(VerifySample, KeysThatAConversionMakesOneAreAWarning) {
  sample_.AddInt("other", {"step"}, 4);
  sample_.PutOn(files_, kRoot);
  EXPECT_THAT(Found(), ElementsAre("warning dcp.key-collision"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("would both become \"step\""));
  EXPECT_TRUE(report_.ok);
}

TEST_F(VerifySample, MetadataThatCannotBeReadIsAFinding) {
  files_.Put("/ckpt/.metadata", "nothing of the kind");
  EXPECT_THAT(Found(), ElementsAre("error dcp.metadata-damaged"));
  EXPECT_EQ(report_.findings[0].file, ".metadata");
}

TEST_F(VerifySample, WhatWasNotSelectedIsLeftOut) {
  Change(kFile, [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  EXPECT_THAT(Found(VerifyLevel::kPayload, {.selection = {.select = {"w"}}}), IsEmpty());
  EXPECT_EQ(report_.totals.checked_storages, 2U);
  EXPECT_EQ(ErrorOf(Verify(files_, kRoot, {.selection = {.select = {"nothing"}}})).kind(), ErrorKind::kNotFound);
}

// Nothing moved: it was there all the time and was not opened.
TEST_F(VerifySample, AFifoIsNotAFileThatAppeared) {
  Value(files_.RemoveFile("/ckpt/__1_0.distcp"));
  files_.PutSpecial("/ckpt/__1_0.distcp", io::FileType::kFifo);
  const std::vector<std::string> found = Found();
  EXPECT_THAT(found, Contains(HasSubstr("file.unreadable")));
  EXPECT_THAT(found, Not(Contains(HasSubstr("being-written"))));
}

// Lets a writer go on while storages are read.
class Writer final : public Observer {
 public:
  explicit Writer(MemoryFileSystem& files) : files_(files) {}
  void OnStage(std::string_view name, uint64_t /*total_bytes*/) override {
    if (name == "check") files_.Overwrite(kFile, *files_.Contents(kFile) + "more");
  }

 private:
  MemoryFileSystem& files_;
};

TEST_F(VerifySample, FilesThatMoveAreToldApartFromDamage) {
  Value(files_.RemoveFile("/ckpt/__1_0.distcp"));
  Change(kFile, [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  Writer writer(files_);
  EXPECT_THAT(Found(VerifyLevel::kPayload, {.run = {.observer = &writer}}),
              ElementsAre("error dcp.being-written", "error dcp.file-missing w"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("bytes and now has"));
  EXPECT_FALSE(report_.ok);
}

TEST_F(VerifySample, AnUnfinishedSaveIsAFindingOfItsOwn) {  // C06
  Value(files_.RemoveFile("/ckpt/.metadata"));
  EXPECT_THAT(Found(), ElementsAre("error dcp.unfinished", "note dcp.archives-without-metadata",
                                   "note dcp.archives-without-metadata"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("from ranks 0 to 1"));
  EXPECT_THAT(report_.findings[2].message, HasSubstr("archives that are whole: 1, "));
}

TEST_F(VerifySample, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ErrorOf(Verify(files_, kRoot, {.run = {.stop = stop.get_token()}})).kind(), ErrorKind::kCancelled);
}

TEST(VerifyOverlap, TwoEntriesInOnePlace) {
  MemoryFileSystem files;
  dcp::SampleCheckpoint sample;
  sample.AddTensor("a", {"a"}, {2});
  const auto length = static_cast<int64_t>(sample.file("__0_0.distcp").size());
  sample.metadata().AddTensor("b", "float32", {2}, {{{0}, {2}}});
  sample.metadata().AddRecord({.key = "b", .offsets = dcp::Ints{0}, .offset = 0, .length = length});
  sample.PutOn(files, kRoot);
  const VerifyReport report = Value(Verify(files, kRoot, {.settle_ms = 0}));
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, "dcp.record-overlap");
  EXPECT_EQ(report.findings[0].key, "b");
}

// Copies that a save without collectives makes are neither damage nor orphans.
TEST(VerifyRanks, ReplicasBelongToTheCheckpoint) {  // C17
  MemoryFileSystem files;
  for (const int rank : {0, 1}) {
    dcp::SampleCheckpoint sample;
    const std::string file = "__" + std::to_string(rank) + "_0.distcp";
    sample.AddTensor("replica", {"replica"}, {2}, 0, {{.offsets = {0}, .sizes = {2}, .file = file}});
    sample.PutOn(files, kRoot, "__" + std::to_string(rank) + ".metadata");
  }
  EXPECT_THAT(Value(Verify(files, kRoot, {.settle_ms = 0})).findings, IsEmpty());
  Value(files.RemoveFile("/ckpt/__1.metadata"));
  const VerifyReport report = Value(Verify(files, kRoot, {.settle_ms = 0}));
  std::vector<std::string> ids;
  for (const Finding& finding : report.findings) ids.push_back(finding.id + " " + finding.file);
  EXPECT_THAT(ids, ElementsAre("dcp.file-unreferenced __1_0.distcp", "dcp.rank-missing __1_0.distcp"));
}

class VerifyTorch : public testing::Test {
 protected:
  void SetUp() override {
    pickle::Document document;
    const pickle::Value root = document.Dict();
    document.SetItem(root, document.String("a"),
                     torch::MakeSample(document, {.items = 3, .shape = {3}, .strides = {1}}));
    document.SetItem(root, document.String("b"),  // a view of the same storage
                     torch::MakeSample(document, {.items = 3, .offset = 1, .shape = {2}, .strides = {1}}));
    bytes_ = torch::SaveTorch(root, {dcp::Floats(3)});
  }

  std::vector<std::string> Found(const std::string& bytes, VerifyLevel level = VerifyLevel::kPayload) {
    files_.Put("/m.pt", bytes);
    report_ = Value(Verify(files_, "/m.pt", {.level = level, .settle_ms = 0}));
    std::vector<std::string> texts;
    for (const Finding& f : report_.findings) texts.push_back(f.id + (f.key.empty() ? "" : " " + f.key));
    return texts;
  }

  MemoryFileSystem files_;
  std::string bytes_;
  VerifyReport report_;
};

TEST_F(VerifyTorch, StoragesAreReadOnce) {
  EXPECT_THAT(Found(bytes_), IsEmpty());
  EXPECT_TRUE(report_.ok);
  EXPECT_EQ(report_.totals.checked_storages, 1U);
  EXPECT_EQ(report_.totals.checked_bytes, 12U);
  EXPECT_EQ(report_.totals.used_bytes, bytes_.size());
}

TEST_F(VerifyTorch, DamageOfAStorageHitsAllThatShareIt) {
  const size_t at = bytes_.find(dcp::Floats(3));
  ASSERT_NE(at, std::string::npos);
  bytes_[at + 5] ^= 4;
  EXPECT_THAT(Found(bytes_), ElementsAre("payload.crc a", "payload.crc b"));
  EXPECT_THAT(Found(bytes_, VerifyLevel::kStructure), IsEmpty());
}

TEST_F(VerifyTorch, CutAndAppendedFilesAreToldApart) {  // C99
  EXPECT_THAT(Found(bytes_.substr(0, bytes_.size() / 2)), ElementsAre("zip.truncated"));
  EXPECT_THAT(Found(bytes_ + "junk"), ElementsAre("zip.trailing-bytes"));
  EXPECT_EQ(report_.findings[0].offset, bytes_.size());
}

TEST_F(VerifyTorch, WhatIsNoCheckpointIsAnError) {
  files_.Put("/x", "<html>");
  EXPECT_EQ(ErrorOf(Verify(files_, "/x", {})).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(Verify(files_, "/none", {})).kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace dcpctl::ops
