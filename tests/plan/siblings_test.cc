#include "plan/siblings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_builder.h"
#include "plan/schedule.h"
#include "support/result.h"
#include "tests/model/tiling.h"
#include "tests/plan/sample_catalog.h"

namespace dcpctl {
namespace {

using test::CatalogBuilder;

// A tensor of a MiB and more in two row shards, given out in columns or rows to several outputs.
class Cut {
 public:
  explicit Cut(Dims shape, Dims strides = {}) : shape_(std::move(shape)) {
    builder_.AddFile("f", uint64_t{1} << 40);
    AddTensor(std::move(strides));
  }

  void AddTensor(Dims strides = {}) {
    builder_.AddTensor("t" + std::to_string(builder_.catalog().tensors.size()), DType::kFloat32, shape_);
    Dims grid(shape_.size(), 1);
    grid[0] = 2;
    for (const Box& box : test::GridTiling(shape_, grid)) {
      const uint64_t bytes = *Numel(box.sizes) * 4;
      builder_.AddChunk(box, 0, {.offset = place_, .bytes = bytes}, strides);
      place_ += bytes;
    }
  }

  // Cuts dimension `dim` of all tensors over this many outputs.
  Plan Over(size_t dim, uint64_t outputs) {
    PlanBuilder planner(builder_.catalog());
    Dims grid(shape_.size(), 1);
    grid[dim] = outputs;
    const std::vector<Box> boxes = test::GridTiling(shape_, grid);
    for (const Box& box : boxes) {
      const uint64_t bytes = *Numel(box.sizes) * 4;
      const auto& tensors = builder_.catalog().tensors;
      const uint32_t output = planner.AddOutput("o", (bytes + 1) * tensors.size());
      uint64_t pos = 0;
      for (const Tensor& tensor : tensors) {
        planner.AddLiteral({.output = output, .text = planner.AddText({.bytes = "h", .holes = {}}), .offset = pos});
        planner.AddBox(output, pos + 1, tensor, box.view());
        pos += bytes + 1;
      }
    }
    return std::move(planner).Finish();
  }

 private:
  Dims shape_;
  uint64_t place_ = 0;
  CatalogBuilder builder_;
};

TEST(Siblings, AreColumnsOfTheSameRows) {
  const Plan plan = Cut({512, 1024}).Over(1, 4);
  const auto found = FindSiblings(plan);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].regions, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].cut, 1u);
  EXPECT_EQ(found[0].row_bytes, 4096u);
}

TEST(Siblings, AreOfEachTensorByItself) {
  Cut cut({512, 1024});
  cut.AddTensor();
  EXPECT_EQ(FindSiblings(cut.Over(1, 4)).size(), 2u);
}

TEST(Siblings, MayBeCutAlongALaterDimension) {
  const Plan plan = Cut({8, 64, 1024}).Over(2, 3);
  const auto found = FindSiblings(plan);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cut, 2u);
  EXPECT_EQ(found[0].row_bytes, 4096u);
}

TEST(Siblings, AreFewEnoughToBeOpenTogether) {
  const Plan plan = Cut({512, 1024}).Over(1, 40);
  const auto found = FindSiblings(plan);
  ASSERT_EQ(found.size(), 3u);
  std::multiset<size_t> sizes;
  for (const Siblings& group : found) {
    sizes.insert(group.regions.size());
    for (const uint32_t r : group.regions) {
      EXPECT_EQ(plan.regions[r].output / kSiblingOutputs, plan.regions[group.regions[0]].output / kSiblingOutputs);
    }
    // The source has more than the group takes.
    EXPECT_EQ(group.row_bytes, 4096u);
  }
  EXPECT_EQ(sizes, (std::multiset<size_t>{8, 16, 16}));
}

TEST(Siblings, AreNotRowsNorTransposedNorSmall) {
  EXPECT_TRUE(FindSiblings(Cut({512, 1024}).Over(0, 4)).empty());
  EXPECT_TRUE(FindSiblings(Cut({512, 1024}, {1, 512}).Over(1, 4)).empty());
  EXPECT_TRUE(FindSiblings(Cut({16, 16}).Over(1, 4)).empty());
  EXPECT_TRUE(FindSiblings(Cut({512 * 1024}).Over(0, 4)).empty());
}

TEST(Siblings, AreOneOfEachOutput) {
  Cut cut({512, 1024});
  Plan plan = cut.Over(1, 4);
  for (Region& region : plan.regions) region.output = 0;
  EXPECT_TRUE(FindSiblings(plan).empty());
}

// Each task of a batch takes the same rows of the next output, and each output still comes in its order.
void ExpectBatchesOfRows(const Plan& plan, const Schedule& schedule, size_t outputs) {
  std::vector<uint64_t> place(plan.outputs.size());
  uint64_t next = 0;
  size_t shared = 0;
  for (const Batch& batch : schedule.batches) {
    ASSERT_EQ(batch.first_task, next);
    next += batch.task_count;
    for (uint64_t t = batch.first_task; t < next; ++t) {
      const Task& task = schedule.tasks[t];
      ASSERT_EQ(task.offset, place[task.output]);
      place[task.output] += task.bytes;
    }
    if (batch.task_count == 1) continue;
    ++shared;
    ASSERT_EQ(batch.task_count, outputs);
  }
  EXPECT_EQ(next, schedule.tasks.size());
  EXPECT_GT(shared, 0u);
  for (size_t o = 0; o < place.size(); ++o) EXPECT_EQ(place[o], plan.outputs[o].bytes);
}

TEST(Siblings, AreScheduledSideBySide) {
  for (const Dims& shape : std::vector<Dims>{{1024, 1024}, {1031, 999}, {3, 700, 1001}}) {
    Cut cut(shape);
    cut.AddTensor();
    const Plan plan = cut.Over(shape.size() - 1, 4);
    for (const uint64_t memory : {uint64_t{4} << 20, uint64_t{256} << 20}) {
      const Schedule schedule = test::Value(MakeSchedule(plan, {.jobs = 3, .memory_bytes = memory}));
      ExpectBatchesOfRows(plan, schedule, 4);
      EXPECT_LE(schedule.jobs * (schedule.buffer_bytes + schedule.scratch_bytes), memory);
    }
  }
}

TEST(Siblings, WaitWhenOutputsAreWrittenOneByOne) {
  const Plan plan = Cut({1024, 1024}).Over(1, 4);
  const Schedule schedule = test::Value(MakeSchedule(plan, {.jobs = 3, .output_by_output = true}));
  uint32_t last = 0;
  for (const Task& task : schedule.tasks) {
    EXPECT_GE(task.output, last);
    last = task.output;
  }
  for (const Batch& batch : schedule.batches) EXPECT_EQ(batch.task_count, 1u);
}

TEST(Siblings, AreLeftAloneWhenTheirOutputsHaveThemInAnotherOrder) {
  Cut cut({512, 1024});
  cut.AddTensor();
  Plan plan = cut.Over(1, 2);
  // Output 1 has the second tensor first.
  std::swap(plan.regions[2], plan.regions[3]);
  std::swap(plan.regions[2].offset, plan.regions[3].offset);
  const Schedule schedule = test::Value(MakeSchedule(plan, {}));
  ExpectBatchesOfRows(plan, schedule, 2);
}

}  // namespace
}  // namespace dcpctl
