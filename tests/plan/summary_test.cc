#include <gtest/gtest.h>

#include "dcpctl/plan.h"

namespace dcpctl {
namespace {

TEST(Summarize, CountsWhatIsReadAndWritten) {
  Plan plan;
  plan.outputs = {{.path = "a.pt", .bytes = 100}, {.path = "b.pt", .bytes = 11}};
  plan.literals.resize(3);
  plan.pieces.resize(4);
  plan.sources = {{.stored = {.bytes = 1000}},
                  {.stored = {.bytes = 50, .encoded_bytes = 20, .codec = Codec::kDeflate}},
                  {.stored = {.bytes = 70, .codec = Codec::kZstd}, .record_length = 3}};
  plan.needs.cuda = true;
  const PlanSummary summary = Summarize(plan);
  EXPECT_EQ(summary.bytes_read, 1023u);
  EXPECT_EQ(summary.bytes_written, 111u);
  EXPECT_EQ(summary.bytes_cloned, 0u);
  EXPECT_EQ(summary.steps, 7u);
  ASSERT_EQ(summary.outputs.size(), 2u);
  EXPECT_EQ(summary.outputs[1].path, "b.pt");
  EXPECT_TRUE(summary.needs.cuda);
  EXPECT_FALSE(summary.needs.mpi);
}

TEST(PlanFilePath, JoinsRootAndName) {
  EXPECT_EQ(PathOf(PlanFile{.root = "ckpt", .relative = "a/b.distcp"}), "ckpt/a/b.distcp");
  EXPECT_EQ(PathOf(PlanFile{.root = "model.pt", .relative = ""}), "model.pt");
}

}  // namespace
}  // namespace dcpctl
