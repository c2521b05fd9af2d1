#include "ops/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "dcp/sample_checkpoint.h"
#include "ops/manifest_file.h"
#include "ops/verify.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using dcp::SampleCheckpoint;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ManifestOfSample : public testing::Test {
 protected:
  // The same contents in other cuts.
  void PutSample(const std::string& root, bool cut, float first = 0, int64_t step = 3) {
    SampleCheckpoint sample;
    std::vector<dcp::SamplePart> parts = {{.offsets = {0, 0}, .sizes = {4, 6}}};
    if (cut) {
      parts = {{.offsets = {0, 4}, .sizes = {4, 2}, .file = "__1_0.distcp"},
               {.offsets = {0, 0}, .sizes = {4, 4}, .zstd = true}};
    }
    sample.AddTensor("w", {"w"}, {4, 6}, first, parts);
    sample.AddTensor("empty", {"empty"}, {0, 3});
    sample.AddInt("step", {"step"}, step);
    sample.PutOn(files_, root);
  }
  void Write(const std::string& root, VerifyOptions options = {}) {
    options.manifest = "/manifest.json";
    options.run.force = true;
    options.settle_ms = 0;
    ASSERT_TRUE(Value(Verify(files_, root, options)).ok);
  }
  // "id key" of what is found.
  std::vector<std::string> Check(const std::string& root, VerifyOptions options = {}) {
    options.check_manifest = "/manifest.json";
    options.settle_ms = 0;
    report_ = Value(Verify(files_, root, options));
    std::vector<std::string> texts;
    for (const Finding& f : report_.findings) texts.push_back(f.key.empty() ? f.id : f.id + " " + f.key);
    return texts;
  }
  void Edit(const std::function<void(std::string&)>& edit) {
    std::string text = *files_.Contents("/manifest.json");
    edit(text);
    files_.Put("/manifest.json", text);
  }

  MemoryFileSystem files_;
  VerifyReport report_;
};

TEST_F(ManifestOfSample, DigestsAreOfTypeShapeAndElements) {
  PutSample("/a", true);
  const auto entries = Value(DigestEntries(files_, "/a", {}, {}));
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].key, "empty");
  EXPECT_EQ(entries[0].digest, Sha256Of("float32 [0, 3]\n"));
  EXPECT_EQ(entries[2].key, "w");
  EXPECT_EQ(entries[2].bytes, 96U);
  EXPECT_EQ(entries[2].digest, Sha256Of("float32 [4, 6]\n" + dcp::Floats(24)));
}

TEST_F(ManifestOfSample, FitsTheSameFilesAndOtherLayouts) {
  PutSample("/a", false);
  PutSample("/b", true);
  Write("/a");
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.equal"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("all files"));
  EXPECT_THAT(Check("/b"), ElementsAre("manifest.equal"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("all 3 entries"));
  EXPECT_TRUE(report_.ok);
  Write("/b");
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.equal"));
}

TEST_F(ManifestOfSample, EqualCheckpointsHaveEqualEntries) {
  PutSample("/a", false);
  PutSample("/b", true);
  for (const unsigned jobs : {1U, 4U}) {
    RunOptions run;
    run.jobs = jobs;
    const auto a = Value(DigestEntries(files_, "/a", {}, run));
    const auto b = Value(DigestEntries(files_, "/b", {}, run));
    EXPECT_EQ(RenderManifest({.format = "dcp", .entries = a}), RenderManifest({.format = "dcp", .entries = b}));
  }
}

TEST_F(ManifestOfSample, ChangesAreFound) {
  PutSample("/a", false);
  PutSample("/b", false, 1, 4);
  Write("/a");
  EXPECT_THAT(Check("/b"), ElementsAre("manifest.object step", "manifest.values w"));
  EXPECT_FALSE(report_.ok);
  SampleCheckpoint other;
  other.AddInt("w", {"w"}, 1);
  other.AddTensor("empty", {"empty"}, {3, 0});
  other.AddInt("new", {"new"}, 1);
  other.PutOn(files_, "/c");
  EXPECT_THAT(Check("/c"),
              ElementsAre("manifest.extra new", "manifest.kind w", "manifest.missing step", "manifest.shape empty"));
  VerifyOptions options;
  options.selection.select = {"empty"};
  EXPECT_THAT(Check("/c", options), ElementsAre("manifest.shape empty"));
  options.selection.select = {"step"};
  EXPECT_THAT(Check("/b", options), ElementsAre("manifest.object step"));
}

TEST_F(ManifestOfSample, AnotherCheckpointIsCalledThat) {
  PutSample("/a", false);
  Write("/a");
  SampleCheckpoint other;
  other.AddInt("something", {"something"}, 1);
  other.AddInt("else", {"else"}, 1);
  other.PutOn(files_, "/c");
  EXPECT_THAT(Check("/c"), ElementsAre("manifest.other-checkpoint"));
}

TEST_F(ManifestOfSample, OneThatWasEditedIsRefused) {
  PutSample("/a", false);
  Write("/a");
  const std::string good = *files_.Contents("/manifest.json");
  Edit([](std::string& text) { text.replace(text.find("[4,6]"), 5, "[6,4]"); });
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.invalid"));
  EXPECT_THAT(report_.findings[0].message, HasSubstr("changed after it was written"));
  Edit([&](std::string& text) { text = good.substr(0, good.size() / 2); });
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.invalid"));
  Edit([&](std::string& text) { text = "{\"schema\": \"dcpctl.verify/1\"}"; });
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.invalid"));
  Edit([&](std::string& text) { text = "[]"; });
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.invalid"));
  // White space is no edit.
  Edit([&](std::string& text) {
    text = good;
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, " \n");
  });
  EXPECT_THAT(Check("/a"), ElementsAre("manifest.equal"));
}

TEST_F(ManifestOfSample, NotOfADamagedOneNorOverAFile) {
  PutSample("/a", false);
  VerifyOptions options{.manifest = "/manifest.json", .settle_ms = 0};
  files_.Put("/manifest.json", "mine");
  EXPECT_EQ(ErrorOf(Verify(files_, "/a", options)).kind(), ErrorKind::kExists);
  EXPECT_EQ(*files_.Contents("/manifest.json"), "mine");
  options.manifest = "/a/.metadata";
  options.run.force = true;
  EXPECT_EQ(ErrorOf(Verify(files_, "/a", options)).kind(), ErrorKind::kExists);
  options.manifest = "/new.json";
  std::string bytes = *files_.Contents("/a/__0_0.distcp");
  bytes.resize(bytes.size() - 1);
  files_.Put("/a/__0_0.distcp", bytes);
  const VerifyReport report = Value(Verify(files_, "/a", options));
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.findings.back().id, "manifest.not-written");
  EXPECT_FALSE(files_.Contents("/new.json"));
}

TEST(ManifestFile, IsReadBack) {
  const Manifest manifest{
      .format = "torch",
      .entries =
          {{.key = "a \"b\"", .is_tensor = true, .dtype = "int8", .shape = {}, .bytes = 1, .digest = Sha256Of("x")},
           {.key = "c", .digest = Sha256Of("y")}},
      .files = {{.path = "", .bytes = 5, .digest = Sha256Of("z")}}};
  const std::string text = RenderManifest(manifest);
  const Manifest read = Value(ParseManifest(text, "m.json"));
  EXPECT_EQ(RenderManifest(read), text);
  EXPECT_EQ(read.files, manifest.files);
  EXPECT_TRUE(read.entries[0].is_tensor);
  EXPECT_FALSE(read.entries[1].is_tensor);
}

// Read by others than who wrote it: whoever made this can make a digest, too.
TEST(ManifestFile, IsRefusedForWhatNoManifestHas) {
  const auto parse = [](const std::string& members) {
    const auto with = [&](const std::string& digest) {
      return "{\"schema\":\"dcpctl.manifest/1\"," + members + ",\"manifest_sha256\":\"" + digest + "\"}";
    };
    return ParseManifest(with(ToHex(Sha256Of("{\"schema\":\"dcpctl.manifest/1\"," + members + "}"))), "m.json");
  };
  EXPECT_TRUE(parse(R"("format":"dcp","entries":[],"files":[])"));
  EXPECT_THAT(ErrorOf(parse(R"("format":5,"entries":[],"files":[])")).ToString(), HasSubstr("m.json: error: format"));
  EXPECT_EQ(ErrorOf(parse(R"("format":"dcp","entries":[5],"files":[])")).kind(), ErrorKind::kCorrupt);
  const std::string deep = "\"a\":" + std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_THAT(ErrorOf(parse(deep)).ToString(), HasSubstr("m.json: error: JSON nested deeper than 16"));
  EXPECT_THAT(ErrorOf(parse(R"("format":"dcp","format":"dcp","entries":[],"files":[])")).ToString(),
              HasSubstr("is there twice"));
}

}  // namespace
}  // namespace dcpctl::ops
