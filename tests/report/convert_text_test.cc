#include "report/convert_text.h"

#include <gtest/gtest.h>

namespace dcpctl::report {
namespace {

TEST(ConvertText, LastLineSaysWhatWasWritten) {  // C01
  ConvertReport report;
  report.tensors = 12;
  report.objects = 1;
  report.plan.bytes_written = uint64_t{3} << 29;
  report.seconds = 1.5;
  EXPECT_EQ(RenderConverted(report, "out/model.pt"),
            "out/model.pt: 12 tensors and 1 object, 1.5 GiB, written in 1.5 s (1.0 GiB/s)\n");
  report.left_out = 2;
  EXPECT_EQ(
      RenderConverted(report, "-"),
      "standard output: 12 tensors and 1 object, 1.5 GiB, written in 1.5 s (1.0 GiB/s); 2 damaged entries left out\n");
}

TEST(ConvertText, PlanIsATable) {
  PlanSummary plan;
  plan.outputs = {{.path = "out.pt", .bytes = 5000}};
  plan.bytes_read = 4096;
  plan.bytes_written = 5000;
  plan.steps = 1;
  EXPECT_EQ(RenderPlan(plan),
            "OUTPUT  BYTES\n"
            "out.pt  5,000\n"
            "\n"
            "reads 4.0 KiB, writes 4.9 KiB in 1 step\n"
            "Nothing was written (dry run).\n");
}

TEST(ConvertText, SaysHowManyTensorsWereCast) {
  ConvertReport report;
  EXPECT_EQ(RenderCast(report), "");
  report.cast = CastTotals{.to = DType::kBFloat16, .cast = 12};
  EXPECT_EQ(RenderCast(report), "12 tensors cast to bfloat16\n");
  report.cast = CastTotals{.to = DType::kFloat16, .cast = 1, .same = 1, .other = 2000};
  EXPECT_EQ(RenderCast(report),
            "1 tensor cast to float16; 1 has it already; 2,000 are not of floating-point numbers\n");
}

TEST(RenderRanks, IsATableOfAllThatFitAScreen) {
  ConvertReport report;
  report.ranks = {{.bytes = 3000, .pieces = 2}, {.bytes = 0, .pieces = 0}, {.bytes = 6000, .pieces = 1234}};
  EXPECT_EQ(RenderRanks(report),
            "RANK    BYTES  PIECES\n"
            "   0  2.9 KiB       2\n"
            "   1      0 B       0\n"
            "   2  5.9 KiB   1,234\n"
            "3 ranks; the fullest has 2.00 times the mean\n");
}

TEST(RenderRanks, ShowsTheEmptiestAndTheFullestOfMany) {
  ConvertReport report;
  report.ranks.assign(16, {.bytes = 100, .pieces = 1});
  EXPECT_NE(RenderRanks(report).find("  15  100 B       1\n16 ranks; the fullest has 1.00 times the mean\n"),
            std::string::npos);
  report.ranks.assign(100'000, {.bytes = 100, .pieces = 1});
  report.ranks[70'000].bytes = 99;
  report.ranks[5].bytes = 200;
  report.ranks[6].bytes = 200;
  EXPECT_EQ(RenderRanks(report),
            " RANK  BYTES  PIECES\n"
            "70000   99 B       1\n"
            "    5  200 B       1\n"
            "100,000 ranks; the fullest has 2.00 times the mean; above are the emptiest and the fullest\n");
}

TEST(RenderRanks, IsNothingWithoutALayout) { EXPECT_EQ(RenderRanks({}), ""); }

TEST(RenderRanks, OfRanksWithoutBytesIsEven) {
  ConvertReport report;
  report.ranks.resize(1);
  EXPECT_EQ(RenderRanks(report),
            "RANK  BYTES  PIECES\n"
            "   0    0 B       0\n"
            "1 rank; the fullest has 1.00 times the mean\n");
}

}  // namespace
}  // namespace dcpctl::report
