// DCP to DCP with the data files as they are: copied, linked, or left where they lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "io/staged_directory.h"
#include "ops/to_dcp.h"
#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "w" [4] in two files, one of them in a folder; "rates" is {"lr": 7}, "step" an int.
class AdoptTest : public testing::Test {
 protected:
  void SetUp() override {
    sample_.AddTensor(
        "w", {"w"}, {4}, 0,
        {{.offsets = {0}, .sizes = {2}}, {.offsets = {2}, .sizes = {2}, .file = "sub/epoch/__1_0.distcp"}});
    sample_.AddObject("rates", {"rates"}, [](auto& d) {
      const pickle::Value rates = d.Dict();
      d.SetItem(rates, d.String("lr"), d.Int(7));
      d.SetItem(rates, d.String("none"), d.Dict());
      return rates;
    });
    sample_.AddInt("step", {"step"}, 7);
    files_.PutDirectory("/out");
    sample_.PutOn(files_, "/ckpt");
    for (const std::string& path : files_.Paths()) source_[path] = *files_.Contents(path);
  }
  void TearDown() override {
    for (const auto& [path, bytes] : source_) EXPECT_EQ(files_.Contents(path), bytes) << path;
  }

  Result<ConvertReport> Convert(ConvertOptions options, const std::string& target = "/out/ckpt") {
    return ToDcp(files_, "/ckpt", target, options);
  }
  Catalog Made() { return Value(dcp::SurveyDirectory(files_, "/out/ckpt", {})); }
  std::vector<std::string> Keys(const Catalog& catalog) {
    std::vector<std::string> keys;
    for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
    return keys;
  }
  std::vector<std::string> PathsBelow(const std::string& folder) {
    std::vector<std::string> below;
    for (const std::string& path : files_.Paths()) {
      if (path.starts_with(folder)) below.push_back(path.substr(folder.size()));
    }
    return below;
  }

  MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  std::map<std::string, std::string> source_;
};

TEST_F(AdoptTest, CopiesDataFilesAsTheyAre) {
  const ConvertReport report = Value(Convert({.data = DataPolicy::kCopy}));
  EXPECT_THAT(PathsBelow("/out/ckpt/"), ElementsAre(".metadata", "__0_0.distcp", "sub/epoch/__1_0.distcp"));
  for (const char* name : {"__0_0.distcp", "sub/epoch/__1_0.distcp"})
    EXPECT_EQ(files_.Contents("/out/ckpt/" + std::string(name)), source_["/ckpt/" + std::string(name)]);
  const Catalog made = Made();
  EXPECT_THAT(made.findings, IsEmpty());
  EXPECT_THAT(Keys(made), ElementsAre("w", "rates", "step"));
  EXPECT_EQ(report.plan.outputs.size(), 3U);
  uint64_t bytes = 0;
  for (const PlanOutput& output : report.plan.outputs) bytes += output.bytes;
  EXPECT_EQ(report.plan.bytes_written, bytes);
  files_.Crash();
  EXPECT_THAT(Made().findings, IsEmpty()) << "all of it was synced";
}

TEST_F(AdoptTest, LinksDataFiles) {
  const ConvertReport report = Value(Convert({.data = DataPolicy::kLink}));
  EXPECT_EQ(Value(files_.Stat("/out/ckpt/__0_0.distcp")).id, Value(files_.Stat("/ckpt/__0_0.distcp")).id);
  EXPECT_EQ(report.plan.bytes_written, files_.Contents("/out/ckpt/.metadata")->size());
  EXPECT_THAT(Made().findings, IsEmpty());
  files_.Crash();
  EXPECT_THAT(Made().findings, IsEmpty()) << "the names were synced";
}

TEST_F(AdoptTest, WritesMetadataAlone) {
  Value(Convert({.data = DataPolicy::kNone}, "/ckpt/new.metadata"));
  EXPECT_THAT(PathsBelow("/out/"), IsEmpty());
  Value(Convert({.data = DataPolicy::kCopy}));
  EXPECT_EQ(files_.Contents("/ckpt/new.metadata"), files_.Contents("/out/ckpt/.metadata"));
}

TEST_F(AdoptTest, NeverReplacesMetadataOfTheSource) {
  const Error error = ErrorOf(Convert({.run = {.force = true}, .data = DataPolicy::kNone}, "/ckpt/.metadata"));
  EXPECT_EQ(error.kind(), ErrorKind::kExists);
  EXPECT_THAT(error.ToString(), HasSubstr("never changed"));
}

TEST_F(AdoptTest, TakesOverWhatIsSelected) {
  Value(Convert({.selection = {.select = {"step"}, .add_prefix = "new"}, .data = DataPolicy::kCopy}));
  EXPECT_THAT(Keys(Made()), ElementsAre("new.step"));
  EXPECT_THAT(PathsBelow("/out/ckpt/"), ElementsAre(".metadata", "__0_0.distcp"));
}

TEST_F(AdoptTest, SaysThatContainersStayWhole) {
  const ConvertReport report = Value(Convert({}));
  ASSERT_EQ(report.plan.findings.size(), 1U);
  EXPECT_EQ(report.plan.findings[0].id, "convert.whole-containers");
  EXPECT_EQ(report.plan.findings[0].severity, Severity::kNote);
}

TEST_F(AdoptTest, PutsEntriesOfAnotherFlatteningIntoAFileOfTheirOwn) {  // C125
  Value(Convert({.compat = "2.6", .data = DataPolicy::kCopy}));
  EXPECT_THAT(PathsBelow("/out/ckpt/"),
              ElementsAre(".metadata", "__0_0.distcp", "__2_0.distcp", "sub/epoch/__1_0.distcp"));
  const Catalog made = Made();
  EXPECT_THAT(made.findings, IsEmpty());
  EXPECT_THAT(Keys(made), ElementsAre("w", "rates.lr", "rates.none", "step"));
  EXPECT_EQ(pickle::Print(made.objects[0].value->document.root()), "7");
  EXPECT_EQ(made.files[made.objects[0].file].path, "__2_0.distcp");
  EXPECT_EQ(made.files[made.objects[2].file].path, "__0_0.distcp") << "a record that is as it was stays where it is";
}

TEST_F(AdoptTest, RefusesAnotherFlatteningWithoutDataFiles) {
  const Error error = ErrorOf(Convert({.compat = "2.6", .data = DataPolicy::kNone}, "/out/metadata"));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.ToString(), HasSubstr("rates.lr"));
  EXPECT_THAT(PathsBelow("/out/"), IsEmpty());
}

TEST_F(AdoptTest, GivesAllOrNothingWhateverFails) {
  for (const DataPolicy data : {DataPolicy::kCopy, DataPolicy::kLink}) {
    files_.SetFaults({});
    Value(Convert({.data = data}));
    const size_t calls = files_.calls().size();
    size_t refused = 0;
    for (uint64_t call = 0; call < calls; ++call) {
      (void)io::RemoveTree(files_, "/out/ckpt").has_value();
      files_.SetFaults({.fail_call = call});
      const auto done = Convert({.data = data});
      files_.SetFaults({});
      refused += done ? 0 : 1;
      // In place after a failure only when the last sync is what failed.
      if (!PathsBelow("/out/").empty()) {
        EXPECT_THAT(Made().findings, IsEmpty()) << "call " << call;
      }
      EXPECT_THAT(PathsBelow("/out/."), IsEmpty()) << "call " << call;
      EXPECT_TRUE(!done || !PathsBelow("/out/").empty());
    }
    EXPECT_GT(refused, calls / 2);
    (void)io::RemoveTree(files_, "/out/ckpt").has_value();
  }
}

}  // namespace
}  // namespace dcpctl::ops
