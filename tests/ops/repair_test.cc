#include "ops/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "ops/compare.h"
#include "ops/verify.h"
#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using dcp::SampleCheckpoint;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One step of a run: the sizes of objects' pickles change from step to step.
SampleCheckpoint Step(int64_t step, float first, int64_t rows = 4) {
  SampleCheckpoint sample;
  sample.AddInt("step", {"step"}, step);
  sample.AddTensor(
      "w", {"w"}, {rows, 2}, first,
      {{.offsets = {0, 0}, .sizes = {2, 2}}, {.offsets = {2, 0}, .sizes = {rows - 2, 2}, .file = "__1_0.distcp"}});
  sample.AddObject(
      "name", {"name"}, [&](pickle::Document& d) { return d.String(std::string(static_cast<size_t>(step), 'x')); }, {},
      "__1_0.distcp");
  sample.AddTensor("b", {"b"}, {0, 3});
  return sample;
}

class RepairSamples : public testing::Test {
 protected:
  void SetUp() override {
    Step(1, 0).PutOn(files_, "/1");
    Step(3000, 50).PutOn(files_, "/2");
    Step(3000, 50).PutOn(files_, "/whole");
    Value(files_.RemoveFile("/2/.metadata"));
  }
  RepairReport Run(const std::string& like = "/1") { return Value(Repair(files_, "/2", like, {})); }
  // "id file" or "id file key".
  static std::vector<std::string> Texts(const RepairReport& report) {
    std::vector<std::string> texts;
    for (const Finding& f : report.findings) texts.push_back(f.id + " " + f.file + (f.key.empty() ? "" : " " + f.key));
    return texts;
  }
  MemoryFileSystem files_;
};

TEST_F(RepairSamples, MakesTheMetadataAnew) {
  const RepairReport report = Run();
  EXPECT_THAT(Texts(report), IsEmpty());
  EXPECT_TRUE(report.fits);
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.output, "/2/.metadata");
  EXPECT_EQ(report.records, 5U);
  EXPECT_EQ(report.files, 2U);
  EXPECT_TRUE(Value(Verify(files_, "/2", {.level = VerifyLevel::kPayload, .settle_ms = 0})).ok);
  EXPECT_TRUE(Value(Compare(files_, "/2", "/whole", {})).equal);
  EXPECT_FALSE(Value(Compare(files_, "/2", "/1", {})).equal);
}

TEST_F(RepairSamples, NeverWritesOverAFile) {
  Run();
  const std::string before = *files_.Contents("/2/.metadata");
  RepairOptions options;
  options.run.force = true;
  EXPECT_EQ(ErrorOf(Repair(files_, "/2", "/1", options)).kind(), ErrorKind::kExists);
  options.output = "/elsewhere";
  EXPECT_TRUE(Value(Repair(files_, "/2", "/1", options)).written);
  EXPECT_EQ(*files_.Contents("/elsewhere"), before);
}

TEST_F(RepairSamples, DryRunsWriteNothing) {
  RepairOptions options;
  options.run.dry_run = true;
  const RepairReport report = Value(Repair(files_, "/2", "/1", options));
  EXPECT_TRUE(report.fits);
  EXPECT_FALSE(report.written);
  EXPECT_FALSE(files_.Contents("/2/.metadata"));
}

TEST_F(RepairSamples, OtherShapesAreRefused) {
  Step(1, 0, 5).PutOn(files_, "/other");
  const RepairReport report = Run("/other");
  EXPECT_THAT(Texts(report), ElementsAre("repair.record-differs __1_0.distcp w"));
  EXPECT_EQ(report.findings[0].message, "record 0 is float32 [2, 2], expected float32 [3, 2]");
  EXPECT_FALSE(report.fits);
  EXPECT_FALSE(files_.Contents("/2/.metadata"));
}

TEST_F(RepairSamples, OtherKindsAreRefused) {
  SampleCheckpoint other;
  other.AddTensor("step", {"step"}, {1});
  other.AddInt("w", {"w"}, 1);
  other.AddTensor("b", {"b"}, {0, 3});
  other.AddTensor("x", {"x"}, {2, 2}, 0, {{.offsets = {0, 0}, .sizes = {2, 2}, .file = "__1_0.distcp"}});
  other.AddObject(
      "name", {"name"}, [](pickle::Document& d) { return d.None(); }, {}, "__1_0.distcp");
  other.PutOn(files_, "/other");
  const RepairReport report = Run("/other");
  EXPECT_THAT(Texts(report),
              ElementsAre("repair.record-differs __0_0.distcp step", "repair.record-differs __0_0.distcp w"));
  EXPECT_EQ(report.findings[0].message, "record 0 is an object of type int, expected float32 [1]");
  EXPECT_EQ(report.findings[1].message, "record 1 is float32 [2, 2], expected an object");
}

TEST_F(RepairSamples, FilesMustBeTheSame) {
  files_.Put("/2/__2_0.distcp", "something");
  files_.Put("/2/__3_0.distcp", "");
  Value(files_.RemoveFile("/2/__1_0.distcp"));
  EXPECT_THAT(Texts(Run()), ElementsAre("repair.file-missing __1_0.distcp", "repair.file-extra __2_0.distcp"));
}

TEST_F(RepairSamples, WhatWasCutOffIsNoticed) {
  std::string bytes = *files_.Contents("/2/__0_0.distcp");
  bytes.resize(bytes.size() - 30);
  files_.Put("/2/__0_0.distcp", bytes);
  EXPECT_THAT(Texts(Run()), ElementsAre("repair.not-an-archive __0_0.distcp", "repair.record-count __0_0.distcp"));
}

TEST_F(RepairSamples, CompressedRecordsAreNotSupported) {
  SampleCheckpoint other;
  other.AddTensor("w", {"w"}, {4, 2}, 0, {{.offsets = {0, 0}, .sizes = {4, 2}, .zstd = true}});
  other.PutOn(files_, "/zstd");
  EXPECT_EQ(ErrorOf(Repair(files_, "/2", "/zstd", {})).kind(), ErrorKind::kUnsupported);
}

TEST_F(RepairSamples, NeedsCheckpoints) {
  EXPECT_EQ(ErrorOf(Repair(files_, "/2", "/2", {})).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(Repair(files_, "/none", "/1", {})).kind(), ErrorKind::kNotFound);
  files_.Put("/file", "text");
  EXPECT_EQ(ErrorOf(Repair(files_, "/file", "/1", {})).kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace dcpctl::ops
