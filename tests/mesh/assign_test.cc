#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>

#include "dcpctl/mesh.h"
#include "mesh/random_layout.h"
#include "model/coverage.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Pick;
using test::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Patterns are keys, or "*".
bool Matches(std::string_view pattern, std::string_view key) { return pattern == "*" || pattern == key; }

// A list of entries that owns its shapes.
class Entries {
 public:
  Entries& Add(std::string key, Dims shape, uint64_t item_bytes = 4) {
    shapes_.push_back(std::make_unique<Dims>(std::move(shape)));
    list_.push_back({.key = std::move(key), .entry = Next(), .shape = *shapes_.back(), .bytes = item_bytes});
    return *this;
  }
  Entries& AddObject(std::string key, uint64_t bytes) {
    list_.push_back({.key = std::move(key), .entry = Next(), .is_tensor = false, .bytes = bytes});
    return *this;
  }
  [[nodiscard]] const std::vector<LayoutEntry>& list() const { return list_; }

 private:
  [[nodiscard]] uint32_t Next() const { return static_cast<uint32_t>(list_.size()); }

  std::vector<std::unique_ptr<Dims>> shapes_;
  std::vector<LayoutEntry> list_;
};

MeshLayout Layout(std::string_view mesh, const std::vector<std::string>& rules) {
  return Value(ParseMeshLayout(mesh, rules));
}

// "entry@rank [box]" for each piece.
std::vector<std::string> Pieces(const RankLayout& layout) {
  std::vector<std::string> texts;
  for (const RankPiece& piece : layout.pieces)
    texts.push_back(std::to_string(piece.entry) + "@" + std::to_string(piece.rank) + " " +
                    ToString(layout.BoxOf(piece)));
  return texts;
}

TEST(AssignRanks, GivesEachRankItsRows) {
  Entries entries;
  entries.Add("w", {5, 3}).Add("b", {1});
  const RankLayout layout = Value(AssignRanks(entries.list(), Value(MakeFsdpLayout(3)), Matches));
  EXPECT_THAT(Pieces(layout), ElementsAre("0@0 [0:2, 0:3]", "0@1 [2:4, 0:3]", "0@2 [4:5, 0:3]", "1@0 [0:1]"));
  EXPECT_EQ(layout.ranks[0].bytes, 28u);
  EXPECT_EQ(layout.ranks[0].pieces, 2u);
  EXPECT_DOUBLE_EQ(layout.Imbalance(), 28.0 * 3 / 64);
}

TEST(AssignRanks, LeavesRanksWithoutRowsOut) {
  Entries entries;
  entries.Add("w", {5, 3});
  const RankLayout layout = Value(AssignRanks(entries.list(), Value(MakeFsdpLayout(7)), Matches));
  EXPECT_EQ(layout.pieces.size(), 5u);
  EXPECT_EQ(layout.ranks.size(), 7u);
  EXPECT_EQ(layout.ranks[6].pieces, 0u);
}

TEST(AssignRanks, WritesScalarsAndObjectsOnceByTheLeastLoaded) {
  Entries entries;
  entries.Add("big", {1, 100}).Add("step", {}).AddObject("args", 1000).Add("other", {}).AddObject("more", 10);
  const RankLayout layout = Value(AssignRanks(entries.list(), Value(MakeFsdpLayout(3)), Matches));
  EXPECT_THAT(Pieces(layout), ElementsAre("0@0 [0:1, 0:100]", "1@1 []", "2@2 []", "3@1 []", "4@1 []"));
}

TEST(AssignRanks, KeepsTensorsWithoutElements) {
  Entries entries;
  entries.Add("x", {4}).Add("empty", {3, 0}).Add("none", {0});
  const RankLayout layout = Value(AssignRanks(entries.list(), Value(MakeFsdpLayout(2)), Matches));
  EXPECT_THAT(Pieces(layout), ElementsAre("0@0 [0:2]", "0@1 [2:4]", "1@0 [0:3, 0:0]", "2@0 [0:0]"));
}

TEST(AssignRanks, SpreadsReplicasOfHsdpByBytes) {
  Entries entries;
  for (int i = 0; i < 8; ++i) entries.Add("w" + std::to_string(i), {8, 4});
  const MeshLayout hsdp = Layout("dp_replicate=4,dp_shard=2", {});
  const RankLayout layout = Value(AssignRanks(entries.list(), hsdp, Matches));
  EXPECT_EQ(layout.pieces.size(), 16u);
  for (const RankTotals& rank : layout.ranks) EXPECT_EQ(rank.bytes, 2u * 4 * 4 * 4);
  EXPECT_DOUBLE_EQ(layout.Imbalance(), 1);
  // Only ranks that hold a box write it.
  for (const RankPiece& piece : layout.pieces) EXPECT_EQ(piece.rank % 2, layout.BoxOf(piece).offsets[0] / 4);
}

TEST(AssignRanks, KeepsTheBoxesOfAShardTogether) {
  Entries entries;
  entries.Add("w", {8});
  const MeshLayout layout = Layout("a=2,r=2", {"*=a:strided_shard(0,2)"});
  EXPECT_THAT(Pieces(Value(AssignRanks(entries.list(), layout, Matches))),
              ElementsAre("0@0 [0:2]", "0@0 [4:6]", "0@2 [2:4]", "0@2 [6:8]"));
}

TEST(AssignRanks, TakesTheFirstRuleThatMatches) {
  Entries entries;
  entries.Add("a", {4, 4}).Add("b", {4, 4}).Add("c", {4, 4});
  const MeshLayout layout = Layout("dp=2,tp=2", {"a=tp:shard(1)", "b=replicate", "a=dp:shard(0)"});
  const RankLayout found = Value(AssignRanks(entries.list(), layout, Matches));
  EXPECT_THAT(Pieces(found),
              ElementsAre("0@0 [0:4, 0:2]", "0@1 [0:4, 2:4]", "1@2 [0:4, 0:4]", "2@0 [0:2, 0:4]", "2@3 [2:4, 0:4]"));
  EXPECT_THAT(found.rule_tensors, ElementsAre(1, 1, 0, 1));
}

TEST(AssignRanks, RefusesARuleThatMatchesNoTensor) {
  Entries entries;
  entries.Add("model.weight", {4}).AddObject("model.extra", 5);
  for (const char* pattern : {"model.wieght", "model.extra"}) {
    const MeshLayout layout = Layout("dp=2", {std::string(pattern) + "=dp:shard(0)"});
    const Error error = ErrorOf(AssignRanks(entries.list(), layout, Matches));
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
    EXPECT_THAT(error.Text(), HasSubstr("--placement \"" + std::string(pattern) + "=dp:shard(0)\" matches no tensor"));
  }
  const MeshLayout layout = Layout("dp=2", {"model.wieght=dp:shard(0)"});
  EXPECT_THAT(ErrorOf(AssignRanks(entries.list(), layout, Matches)).advice(), HasSubstr("\"model.weight\""));
}

TEST(AssignRanks, NamesTensorShapeAndRuleOfADimensionThatIsNotThere) {
  Entries entries;
  entries.Add("step", {}).Add("bias", {4});
  const Error error = ErrorOf(AssignRanks(entries.list(), Layout("dp=2,tp=2", {"*=tp:shard(1)"}), Matches));
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.Text(), AllOf(HasSubstr("shape [4] cannot be cut by tp:shard(1)"),
                                  HasSubstr("--placement \"*=tp:shard(1)\""), HasSubstr("tensor \"bias\"")));
}

TEST(AssignRanks, KeepsToTheLimits) {
  Entries entries;
  entries.Add("w", {1000, 1000});
  const MeshLayout layout = Layout("a=100,b=100", {"*=a:shard(0),b:shard(1)"});
  const Error error = ErrorOf(AssignRanks(entries.list(), layout, Matches, {.boxes = 5000}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_THAT(error.Text(), AllOf(HasSubstr("expected 5000 at most"), HasSubstr("tensor \"w\"")));

  Entries huge;
  huge.Add("x", {uint64_t{1} << 40, uint64_t{1} << 30});
  EXPECT_EQ(ErrorOf(AssignRanks(huge.list(), layout, Matches)).kind(), ErrorKind::kLimit);
  Entries sum;
  sum.AddObject("a", UINT64_MAX).AddObject("b", 1);
  EXPECT_EQ(ErrorOf(AssignRanks(sum.list(), layout, Matches)).kind(), ErrorKind::kLimit);
}

TEST(AssignRanks, OfNothingIsBalanced) {
  const RankLayout layout = Value(AssignRanks({}, Value(MakeFsdpLayout(4)), Matches));
  EXPECT_THAT(layout.pieces, IsEmpty());
  EXPECT_DOUBLE_EQ(layout.Imbalance(), 1);
}

// A million ranks that replicate everything, and tensors with fewer rows than ranks: neither takes time per rank and
// tensor. All pairs would be 10^11.
TEST(AssignRanks, TakesTimeForBoxesAndNotForRanksTimesTensors) {
  Entries entries;
  for (int i = 0; i < 100'000; ++i) entries.Add("t" + std::to_string(i), i % 2 == 0 ? Dims{} : Dims{3, 2});
  const RankLayout layout = Value(AssignRanks(entries.list(), Value(MakeFsdpLayout(1'000'000)), Matches));
  EXPECT_EQ(layout.pieces.size(), 50'000u + 3 * 50'000u);
}

// Every element of every tensor in exactly one piece; each written by a rank that has it.
RC_GTEST_PROP(AssignRanks, CoversEveryTensorOnce, (uint32_t seed)) {
  test::Random random(seed);
  const test::RandomTensor first = test::MakeRandomTensor(random, 24);
  Entries entries;
  MeshLayout layout{.mesh = first.mesh, .rules = {}, .fallback = DefaultRule(first.mesh)};
  for (int i = 0; i < 5; ++i) {
    const std::string key = "t" + std::to_string(i);
    const Dims shape = i == 0 ? first.shape : test::RandomShape(random, 3, 13);
    layout.rules.push_back(
        {.pattern = key,
         .placements = i == 0 ? first.placements : test::RandomPlacements(random, first.mesh, shape.size()),
         .origin = "rule"});
    entries.Add(key, shape);
  }
  const RankLayout found = Value(AssignRanks(entries.list(), layout, Matches));
  std::vector<RankTotals> totals(first.mesh.world_size());
  for (const LayoutEntry& entry : entries.list()) {
    std::vector<BoxView> boxes;
    for (const RankPiece& piece : found.pieces) {
      if (piece.entry != entry.entry) continue;
      boxes.push_back(found.BoxOf(piece));
      totals[piece.rank].bytes += 4 * *Numel(boxes.back().sizes);
      ++totals[piece.rank].pieces;
      if (IsEmpty(boxes.back())) continue;
      const Placements& placements = layout.rules[entry.entry].placements;
      const LocalShard shard = Value(ShardOf(entry.shape, layout.mesh, placements, piece.rank));
      const auto is_this = [&](const Box& box) { return ToString(box.view()) == ToString(boxes.back()); };
      RC_ASSERT(std::any_of(shard.boxes.begin(), shard.boxes.end(), is_this));
    }
    RC_ASSERT(!boxes.empty());
    RC_ASSERT(CheckCoverage(entry.shape, boxes.size(), [&](uint64_t i) { return boxes[i]; }).ok());
  }
  for (size_t rank = 0; rank < totals.size(); ++rank) {
    RC_ASSERT(totals[rank].bytes == found.ranks[rank].bytes);
    RC_ASSERT(totals[rank].pieces == found.ranks[rank].pieces);
  }
}

}  // namespace
}  // namespace dcpctl
