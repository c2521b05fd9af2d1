#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"
#include "tests/model/tiling.h"

namespace dcpctl {
namespace {

using test::Pick;
using test::Random;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Plans that only a schedule looks at: regions without bytes behind them.
class PlanMaker {
 public:
  PlanMaker() {
    plan_.outputs.push_back({.path = "out", .bytes = 0});
    plan_.keys = {"r"};
  }

  void Literal(std::string bytes) {
    const uint64_t length = bytes.size();
    plan_.texts.push_back({.bytes = std::move(bytes), .holes = {}});
    plan_.literals.push_back(
        {.output = 0, .text = static_cast<uint32_t>(plan_.texts.size() - 1), .offset = Advance(length)});
  }

  // One piece that fills it. No strides: row-major.
  void Region(const Dims& shape, uint32_t item_bytes, Dims strides = {}, Codec codec = Codec::kNone) {
    const uint64_t bytes = *Numel(shape) * item_bytes;
    if (strides.empty()) strides = RowMajorStrides(shape);
    plan_.regions.push_back({.output = 0,
                             .offset = Advance(bytes),
                             .bytes = bytes,
                             .item_bytes = item_bytes,
                             .rank = static_cast<uint32_t>(shape.size()),
                             .shape = Add(shape),
                             .first_piece = plan_.pieces.size(),
                             .piece_count = 1});
    plan_.sources.push_back({.stored = {.bytes = bytes, .codec = codec}, .strides = Add(strides)});
    const uint64_t dims = Add(Dims(2 * shape.size(), 0));
    Add(shape);
    plan_.pieces.push_back({.source = static_cast<uint32_t>(plan_.sources.size() - 1), .dims = dims});
  }

  // The last region is cast from this type; only the sizes of items count here.
  void CastFrom(DType from) {
    plan_.regions.back().cast = Cast{.from = from, .to = DType::kFloat32};
    plan_.needs.tensor_math = true;
  }

  Plan Take() { return std::move(plan_); }

 private:
  uint64_t Advance(uint64_t bytes) { return std::exchange(plan_.outputs[0].bytes, plan_.outputs[0].bytes + bytes); }

  uint64_t Add(const Dims& dims) {
    plan_.dims.insert(plan_.dims.end(), dims.begin(), dims.end());
    return plan_.dims.size() - dims.size();
  }

  Plan plan_;
};

Schedule Make(const Plan& plan, const ScheduleLimits& limits = {}) { return test::Value(MakeSchedule(plan, limits)); }

// Whether elements [begin, end) of a row-major tensor are whole rows of one dimension, within one row above it.
bool IsBox(DimsView shape, uint64_t begin, uint64_t end) {
  uint64_t row = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const uint64_t outer = row * shape[d];
    if (begin % row == 0 && (end - begin) % row == 0 && begin / outer == (end - 1) / outer) return true;
    row = outer;
  }
  return end - begin == 1;
}

// Tasks lie end to end over the output, steps end to end over the tasks, and parts of regions are boxes.
void ExpectSound(const Plan& plan, const Schedule& schedule) {
  uint64_t place = 0;
  uint64_t next_step = 0;
  for (const Task& task : schedule.tasks) {
    ASSERT_EQ(task.offset, place);
    ASSERT_EQ(task.first_step, next_step);
    ASSERT_GT(task.step_count, 0u);
    uint64_t bytes = 0;
    for (uint64_t s = 0; s < task.step_count; ++s) {
      const Step& step = schedule.steps[next_step++];
      ASSERT_LT(step.begin, step.end);
      const uint64_t part = step.kind == StepKind::kLiteral ? plan.literals[step.index].offset
                            : step.kind == StepKind::kGap   ? plan.gaps[step.index].offset
                                                            : plan.regions[step.index].offset;
      ASSERT_EQ(part + step.begin, place + bytes);
      bytes += step.end - step.begin;
      if (step.kind == StepKind::kGap) {
        ASSERT_LE(step.end, plan.gaps[step.index].bytes);
        continue;
      }
      if (step.kind == StepKind::kLiteral) {
        ASSERT_EQ(step.end - step.begin, plan.TextOf(plan.literals[step.index]).bytes.size());
        continue;
      }
      const Region& region = plan.regions[step.index];
      if (region.cast) {
        const uint64_t staged = (step.end - step.begin) / region.item_bytes * ItemBytes(region.cast->from);
        ASSERT_LE(staged, schedule.staging_bytes);
      }
      ASSERT_EQ(step.begin % region.item_bytes, 0u);
      ASSERT_EQ(step.end % region.item_bytes, 0u);
      ASSERT_TRUE(IsBox(plan.ShapeOf(region), step.begin / region.item_bytes, step.end / region.item_bytes))
          << step.begin << " to " << step.end << " of " << ToString(plan.ShapeOf(region));
    }
    ASSERT_EQ(task.bytes, bytes);
    const bool one_literal = task.step_count == 1 && schedule.steps[task.first_step].kind == StepKind::kLiteral;
    if (!one_literal) {
      ASSERT_LE(task.bytes, schedule.buffer_bytes);
    }
    place += bytes;
  }
  EXPECT_EQ(place, plan.outputs[0].bytes);
  EXPECT_EQ(next_step, schedule.steps.size());
}

uint64_t MemoryOf(const Schedule& schedule) {
  return schedule.jobs * (schedule.buffer_bytes + schedule.scratch_bytes + schedule.staging_bytes) +
         schedule.decoded_bytes;
}

TEST(Schedule, CoversRandomPlansInOrderWithBoxesAndWithinItsMemory) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    PlanMaker maker;
    for (uint64_t i = Pick(random, 1, 12); i > 0; --i) {
      if (Pick(random, 0, 2) == 0)
        maker.Literal(std::string(Pick(random, 0, 1) != 0 ? Pick(random, 0, 200) : 2 * kMiB, 'l'));
      Dims shape = test::RandomShape(random, 4, 9);
      if (!shape.empty()) shape[Pick(random, 0, shape.size() - 1)] = Pick(random, 0, 40'000);
      Dims strides = RowMajorStrides(shape);
      if (Pick(random, 0, 3) == 0) std::reverse(strides.begin(), strides.end());
      maker.Region(shape, 1u << Pick(random, 0, 4), strides, Pick(random, 0, 9) == 0 ? Codec::kZstd : Codec::kNone);
      constexpr DType kFrom[] = {DType::kFloat64, DType::kFloat16, DType::kFloat8E5M2};
      if (round % 2 == 0 && Pick(random, 0, 2) > 0) maker.CastFrom(kFrom[Pick(random, 0, 2)]);
    }
    const Plan plan = maker.Take();
    for (const uint64_t memory : {4 * kMiB, 5 * kMiB, 64 * kMiB, 1024 * kMiB}) {
      for (const unsigned jobs : {0u, 1u, 3u, 64u}) {
        const Schedule schedule = Make(plan, {.jobs = jobs, .memory_bytes = memory});
        ExpectSound(plan, schedule);
        if (testing::Test::HasFatalFailure()) return;
        EXPECT_LE(MemoryOf(schedule), memory);
        EXPECT_GE(schedule.jobs, 1u);
        EXPECT_LE(schedule.jobs, std::max(1u, jobs));
      }
    }
  }
}

TEST(Schedule, OfAnEmptyPlanHasNoTasks) {
  const Schedule schedule = Make(PlanMaker().Take());
  EXPECT_TRUE(schedule.tasks.empty());
  EXPECT_EQ(schedule.buffer_bytes, 0u);
}

TEST(Schedule, JoinsSmallPartsIntoOneTask) {
  PlanMaker maker;
  for (int i = 0; i < 100; ++i) {
    maker.Literal("header");
    maker.Region({10, 10}, 4);
  }
  const Plan plan = maker.Take();
  const Schedule schedule = Make(plan);
  EXPECT_EQ(schedule.tasks.size(), 1u);
  EXPECT_EQ(schedule.steps.size(), 200u);
  ExpectSound(plan, schedule);
}

TEST(Schedule, WritesALargeLiteralFromWhereItIs) {
  PlanMaker maker;
  maker.Literal(std::string(40 * kMiB, 'x'));
  const Schedule schedule = Make(maker.Take(), {.jobs = 2, .memory_bytes = 4 * kMiB});
  EXPECT_EQ(schedule.tasks.size(), 1u);
  EXPECT_EQ(schedule.buffer_bytes, 0u);
}

TEST(Schedule, UsesFewerThreadsWhenMemoryIsShort) {
  PlanMaker maker;
  maker.Region({64 * kMiB}, 4);
  const Plan plan = maker.Take();
  EXPECT_EQ(Make(plan, {.jobs = 16, .memory_bytes = 256 * kMiB}).jobs, 16u);
  const Schedule small = Make(plan, {.jobs = 16, .memory_bytes = 8 * kMiB});
  EXPECT_LT(small.jobs, 16u);
  EXPECT_GT(small.jobs, 1u);
}

TEST(Schedule, KeepsHalfTheMemoryForDecodedSources) {
  PlanMaker plain;
  plain.Region({kMiB}, 4);
  EXPECT_EQ(Make(plain.Take(), {.memory_bytes = 64 * kMiB}).decoded_bytes, 0u);
  PlanMaker encoded;
  encoded.Region({kMiB}, 4, {}, Codec::kDeflate);
  EXPECT_EQ(Make(encoded.Take(), {.memory_bytes = 64 * kMiB}).decoded_bytes, 32 * kMiB);
}

TEST(Schedule, TakesLargerTilesOfTransposedSources) {
  PlanMaker row_major;
  row_major.Region({8192, 8192}, 4);
  PlanMaker transposed;
  transposed.Region({8192, 8192}, 4, {1, 8192});
  EXPECT_GT(Make(transposed.Take()).buffer_bytes, 4 * Make(row_major.Take()).buffer_bytes);
}

TEST(Schedule, CutsAHugeRegionIntoABoundedNumberOfTasks) {
  for (const Dims& shape : std::vector<Dims>{{uint64_t{1} << 42},
                                             {uint64_t{1} << 20, (uint64_t{1} << 22) + 1},
                                             {(uint64_t{1} << 21) + 1, 3, uint64_t{1} << 19}}) {
    PlanMaker maker;
    maker.Region(shape, 4);
    const Plan plan = maker.Take();
    const Schedule schedule = Make(plan, {.jobs = 4, .memory_bytes = uint64_t{4} << 30});
    EXPECT_LE(schedule.tasks.size(), 300'000u) << ToString(DimsView(shape));
    ExpectSound(plan, schedule);
  }
}

TEST(Schedule, IsRefusedBelowTheLeastMemory) {
  PlanMaker maker;
  maker.Region({10}, 4);
  const Plan plan = maker.Take();
  EXPECT_TRUE(MakeSchedule(plan, {.memory_bytes = 4 * kMiB}));
  const Error error = test::ErrorOf(MakeSchedule(plan, {.memory_bytes = 4 * kMiB - 1}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_NE(error.message().find("4194303"), std::string::npos);
}

}  // namespace
}  // namespace dcpctl
