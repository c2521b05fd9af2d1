#include "ops/resolve_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "ops/selected_source.h"
#include "support/memory_file_system.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "model.w" [4, 6] in two files, "model.b" [3], "step".
void AddSample(dcp::SampleCheckpoint& sample) {
  sample.AddTensor(
      "model.w", {"model", "w"}, {4, 6}, 0,
      {{.offsets = {0, 0}, .sizes = {1, 6}}, {.offsets = {1, 0}, .sizes = {3, 6}, .file = "__2_0.distcp"}});
  sample.AddTensor("model.b", {"model", "b"}, {3});
  sample.AddInt("step", {"step"}, 7);
}

class ResolveLayoutTest : public testing::Test {
 protected:
  // The sample, with these integers.
  void Put(const std::vector<KeyPath>& more = {}, const std::string& root = "/ckpt") {
    dcp::SampleCheckpoint sample;
    AddSample(sample);
    for (const KeyPath& path : more) sample.AddInt(JoinPath(path), path, 1);
    sample.PutOn(files_, root);
  }
  Result<ResolvedLayout> Resolve(const ConvertOptions& options) {
    catalog_ = Value(dcp::SurveyDirectory(files_, "/ckpt", {}));
    std::vector<KeyPath> paths;
    for (const EntryRef entry : catalog_.entries) {
      const bool is_out = left_out_ == catalog_.KeyOf(entry);
      paths.push_back(is_out ? KeyPath{} : catalog_.KeyPathOf(entry));
    }
    return ResolveLayout(files_, catalog_, paths, options);
  }
  // Key, box and rank of each piece.
  std::vector<std::string> Pieces(const ResolvedLayout& resolved) {
    std::vector<std::string> out;
    for (const RankPiece& piece : resolved.layout.pieces) {
      const EntryRef entry = catalog_.entries[piece.entry];
      out.push_back(std::string(catalog_.KeyOf(entry)) +
                    (entry.is_tensor ? " " + ToString(resolved.layout.BoxOf(piece)) : "") + " on " +
                    std::to_string(piece.rank));
    }
    return out;
  }

  MemoryFileSystem files_;
  Catalog catalog_;
  std::string left_out_;
};

TEST_F(ResolveLayoutTest, CutsRowsForAWorldSizeWithoutANote) {
  Put();
  const ResolvedLayout resolved = Value(Resolve({.layout = {.world_size = 2}}));
  EXPECT_THAT(Pieces(resolved), ElementsAre("model.w [0:2, 0:6] on 0", "model.w [2:4, 0:6] on 1", "model.b [0:2] on 0",
                                            "model.b [2:3] on 1", "step on 1"));
  EXPECT_THAT(resolved.notes, IsEmpty());
}

TEST_F(ResolveLayoutTest, LeavesOutWhatHasNoPath) {
  Put();
  left_out_ = "model.w";
  EXPECT_THAT(Pieces(Value(Resolve({.layout = {.world_size = 1}}))), ElementsAre("model.b [0:3] on 0", "step on 0"));
}

TEST_F(ResolveLayoutTest, SaysWhatTheDefaultDecides) {
  Put();
  const ResolvedLayout resolved =
      Value(Resolve({.layout = {.mesh = "dp=2,tp=2", .placements = {"model.w=tp:shard(1)"}}}));
  ASSERT_EQ(resolved.notes.size(), 1U);
  EXPECT_EQ(resolved.notes[0].id, "reshard.default-rule");
  EXPECT_EQ(resolved.notes[0].severity, Severity::kNote);
  EXPECT_EQ(resolved.notes[0].message, "1 tensor that no rule matches is laid out as dp:shard(0),tp:replicate");
}

TEST_F(ResolveLayoutTest, SaysNothingWhenRulesDecideAll) {
  Put();
  EXPECT_THAT(Value(Resolve({.layout = {.mesh = "dp=2", .placements = {"**=shard(0)"}}})).notes, IsEmpty());
}

TEST_F(ResolveLayoutTest, WarnsOfARuleThatDecidesNothing) {
  Put();
  const ResolvedLayout resolved =
      Value(Resolve({.layout = {.mesh = "dp=2", .placements = {"model=shard(0)", "model.w=shard(1)"}}}));
  ASSERT_EQ(resolved.notes.size(), 1U);
  EXPECT_EQ(resolved.notes[0].id, "reshard.hidden-rule");
  EXPECT_EQ(resolved.notes[0].severity, Severity::kWarning);
  EXPECT_THAT(resolved.notes[0].message, HasSubstr("\"model.w=shard(1)\" decides nothing"));
}

TEST_F(ResolveLayoutTest, WarnsOfStateOfSingleRanks) {  // C83
  Put({{"dataloader", "dp_rank_0"}, {"rank_12", "seed"}});
  const ResolvedLayout resolved = Value(Resolve({.layout = {.world_size = 2}}));
  EXPECT_EQ(resolved.layout.pieces.size(), 7U);
  ASSERT_EQ(resolved.notes.size(), 1U);
  EXPECT_EQ(resolved.notes[0].id, "reshard.per-rank-state");
  EXPECT_EQ(resolved.notes[0].severity, Severity::kWarning);
  EXPECT_EQ(resolved.notes[0].key, "dataloader.dp_rank_0");
  EXPECT_THAT(resolved.notes[0].message, HasSubstr("2 entries are named after a rank"));
}

TEST_F(ResolveLayoutTest, KnowsNamesThatOnlyLookLikeRanks) {
  Put({{"rank_"}, {"rank_a"}, {"rank"}, {"lora_rank"}, {"crank_1"}, {"rank_1x"}, {"ranks_1"}, {"rank_1_0"}});
  EXPECT_THAT(Value(Resolve({.layout = {.world_size = 2}})).notes, IsEmpty());
}

TEST_F(ResolveLayoutTest, TakesTheLayoutOfACheckpoint) {
  Put();
  const ResolvedLayout resolved = Value(Resolve({.layout = {.like = "/ckpt"}}));
  EXPECT_THAT(Pieces(resolved),
              ElementsAre("model.w [0:1, 0:6] on 0", "model.w [1:4, 0:6] on 2", "model.b [0:3] on 0", "step on 0"));
  EXPECT_EQ(resolved.layout.ranks.size(), 3U);
  EXPECT_THAT(resolved.notes, IsEmpty());
}

TEST_F(ResolveLayoutTest, RefusesTheLayoutOfOtherKeysUnlessAPartIsTaken) {
  Put();
  Put({{"epoch"}}, "/more");
  const Error error = ErrorOf(Resolve({.layout = {.like = "/more"}}));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_THAT(error.ToString(), AllOf(HasSubstr("/more"), HasSubstr("\"epoch\"")));
  Value(Resolve({.selection = {.select = {"model"}}, .layout = {.like = "/more"}}));
  Value(Resolve({.objects = ObjectPolicy::kDrop, .layout = {.like = "/more"}}));
  Value(Resolve({.skip_damaged = true, .layout = {.like = "/more"}}));
}

TEST_F(ResolveLayoutTest, BlamesTheFileForItsRules) {
  Put();
  files_.Put("/l.json", R"j({"schema": "dcpctl.layout/1", "mesh": {"dp": 2},
                             "placements": [{"match": "model.b", "placement": "dp:shard(1)"}]})j");
  const Error error = ErrorOf(Resolve({.layout = {.file = "/l.json"}}));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().file, "/l.json");
  EXPECT_THAT(error.ToString(), AllOf(HasSubstr("/placements/0"), HasSubstr("tensor \"model.b\"")));
  EXPECT_EQ(ErrorOf(Resolve({.layout = {.mesh = "dp=2", .placements = {"model.b=shard(1)"}}})).kind(),
            ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf(Resolve({.layout = {.file = "/none.json"}})).kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace dcpctl::ops
