#include "plan/share.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_builder.h"
#include "support/result.h"
#include "tests/model/tiling.h"
#include "tests/plan/sample_catalog.h"

namespace dcpctl {
namespace {

using test::Pick;
using test::Random;
using ::testing::ElementsAre;

// Outputs of these many bytes, each a region; 0 is an output that is a literal alone.
Plan OutputsOf(const std::vector<uint64_t>& bytes) {
  Plan plan;
  for (const uint64_t size : bytes) {
    const auto output = static_cast<uint32_t>(plan.outputs.size());
    plan.outputs.push_back({.path = std::to_string(output), .bytes = size});
    if (size > 0) plan.regions.push_back({.output = output, .bytes = size});
  }
  return plan;
}

std::vector<unsigned> Shared(const std::vector<uint64_t>& bytes, unsigned processes) {
  return ShareOutputs(OutputsOf(bytes), processes);
}

TEST(ShareOutputs, GivesNeighboursEqualShares) {
  EXPECT_THAT(Shared({5, 5, 5, 5}, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Shared({5, 5, 5, 5}, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Shared({9, 1, 1, 1, 6, 1}, 3), ElementsAre(0, 1, 1, 1, 1, 2));
  EXPECT_THAT(Shared({1, 1, 1, 9}, 2), ElementsAre(0, 0, 0, 1));
}

TEST(ShareOutputs, LeavesProcessesWithoutWorkWhenThereIsTooLittle) {
  EXPECT_THAT(Shared({7, 7}, 5), ElementsAre(0, 1));
  EXPECT_THAT(Shared({}, 3), ElementsAre());
}

TEST(ShareOutputs, GivesWhatIsLiteralToTheFirst) {
  EXPECT_THAT(Shared({5, 5, 0}, 2), ElementsAre(0, 1, 0));
  EXPECT_THAT(Shared({0, 5, 0, 5}, 2), ElementsAre(0, 0, 0, 1));
}

TEST(ShareOutputs, KeepsTheOutputsOfAFileTogether) {
  Plan plan = OutputsOf({4, 4, 4, 0, 4, 4});
  for (size_t i = 0; i < plan.outputs.size(); ++i) plan.outputs[i].path = i < 4 ? "a" : "b";
  EXPECT_THAT(ShareOutputs(plan, 2), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(ShareOutputs(plan, 6), ElementsAre(0, 0, 0, 0, 1, 1));
}

// Tensors stored in boxes of one tiling and written, over several outputs, in boxes of another.
Plan RandomPlan(Random& random) {
  test::CatalogBuilder builder;
  const uint32_t file = builder.AddFile("__0_0.distcp", uint64_t{1} << 40);
  const uint64_t tensors = Pick(random, 1, 4);
  std::vector<Dims> shapes;
  uint64_t place = 0;
  for (uint64_t t = 0; t < tensors; ++t) {
    shapes.push_back(test::RandomShape(random, 3, 6));
    builder.AddTensor("t" + std::to_string(t), DType::kFloat32, shapes.back());
    for (const Box& box : test::RandomTiling(random, shapes.back(), 4)) {
      const uint64_t bytes = *Numel(box.sizes) * 4;
      builder.AddChunk(box, file, {.offset = place, .bytes = bytes, .crc = 7, .crc_known = Pick(random, 0, 3) > 0});
      place += bytes;
    }
  }
  PlanBuilder planner(builder.catalog());
  const uint64_t outputs = Pick(random, 1, 6);
  std::vector<std::vector<std::pair<const Tensor*, Box>>> boxes(outputs);
  for (uint64_t t = 0; t < tensors; ++t) {
    for (const Box& box : test::RandomTiling(random, shapes[t], 5))
      boxes[Pick(random, 0, outputs - 1)].emplace_back(&builder.catalog().tensors[t], box);
  }
  for (uint64_t o = 0; o < outputs; ++o) {
    uint64_t bytes = 12;
    for (const auto& [tensor, box] : boxes[o]) bytes += *Numel(box.sizes) * 4;
    const uint32_t output = planner.AddOutput("__" + std::to_string(o), bytes);
    Text tail{.bytes = "tail", .holes = {}};
    const auto first_region = static_cast<uint32_t>(planner.region_count());
    uint64_t offset = 8;
    for (const auto& [tensor, box] : boxes[o]) {
      tail.holes.push_back({.pos = 0, .region = planner.AddBox(output, offset, *tensor, box.view()) - first_region});
      offset += *Numel(box.sizes) * 4;
    }
    planner.AddGap({.output = output, .offset = 0, .bytes = 8});
    planner.AddLiteral({.output = output,
                        .text = planner.AddText(std::move(tail)),
                        .offset = bytes - 4,
                        .first_region = first_region});
  }
  return std::move(planner).Finish();
}

// What a region is made of, whatever the numbers of its pieces and sources.
std::string Describe(const Plan& plan, const Region& region) {
  std::string text =
      plan.KeyOf(region) + " " + plan.outputs[region.output].path + " " + std::to_string(region.offset) + ":";
  for (uint64_t i = 0; i < region.piece_count; ++i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    text += " " + std::to_string(plan.sources[piece.source].stored.offset);
    for (const DimsView dims : {plan.PositionOf(region, piece), plan.SourcePositionOf(region, piece),
                                plan.SizeOf(region, piece), plan.StridesOf(region, plan.sources[piece.source])}) {
      for (const uint64_t number : dims) text += "," + std::to_string(number);
    }
  }
  return text;
}

std::vector<std::string> Parts(const Plan& plan) {
  std::vector<std::string> parts;
  for (const Region& region : plan.regions) parts.push_back(Describe(plan, region));
  for (const Gap& gap : plan.gaps) parts.push_back("gap " + plan.outputs[gap.output].path);
  for (const Literal& literal : plan.literals) {
    std::string text = plan.TextOf(literal).bytes + " " + plan.outputs[literal.output].path;
    for (const Hole& hole : plan.TextOf(literal).holes)
      text += " " + Describe(plan, plan.regions[literal.first_region + hole.region]);
    parts.push_back(text);
  }
  return parts;
}

RC_GTEST_PROP(ShareOf, CoversThePlanOnce, (uint32_t seed)) {
  Random random(seed);
  const Plan plan = RandomPlan(random);
  test::Value(CheckPlan(plan));
  const auto processes = static_cast<unsigned>(Pick(random, 1, 8));
  const auto owners = ShareOutputs(plan, processes);
  std::vector<std::string> parts;
  std::map<uint64_t, int> checked;  // by offset of the source
  for (unsigned process = 0; process < processes; ++process) {
    const Plan share = ShareOf(plan, owners, process);
    test::Value(CheckPlan(share));
    for (const std::string& part : Parts(share)) parts.push_back(part);
    for (const PlanSource& source : share.sources) checked[source.stored.offset] += source.stored.crc_known ? 1 : 0;
  }
  auto expected = Parts(plan);
  std::sort(expected.begin(), expected.end());
  std::sort(parts.begin(), parts.end());
  RC_ASSERT(parts == expected);
  // Every checksum is somebody's, and nobody else's.
  for (const PlanSource& source : plan.sources)
    RC_ASSERT(checked.at(source.stored.offset) == (source.stored.crc_known ? 1 : 0));
}

TEST(ShareOf, IsAllOfThePlanForOneProcess) {
  Random random(1);
  const Plan plan = RandomPlan(random);
  EXPECT_EQ(Parts(ShareOf(plan, ShareOutputs(plan, 1), 0)), Parts(plan));
}

}  // namespace
}  // namespace dcpctl
