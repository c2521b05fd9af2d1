#include "report/compare_text.h"

#include <gtest/gtest.h>

#include <string>

namespace dcpctl::report {
namespace {

CompareReport Sample() {
  CompareReport report;
  report.a = "a";
  report.b = "b\n";
  report.only_in_a = {"x\x1b"};
  report.only_in_b = {""};
  report.differ = {{.key = "k", .what = DifferenceKind::kKind, .a = "tensor", .b = "object"},
                   {.key = "t", .what = DifferenceKind::kDType, .a = "float32", .b = "int8"},
                   {.key = "s", .what = DifferenceKind::kShape, .a = "[2]", .b = "[3]"},
                   {.key = "o", .what = DifferenceKind::kObject, .a = "1", .b = "'x'"},
                   {.key = "v",
                    .what = DifferenceKind::kValues,
                    .first_index = {0, 5},
                    .differing = 3,
                    .elements = 1096,
                    .max_abs_diff = 0.25},
                   {.key = "i",
                    .what = DifferenceKind::kValues,
                    .first_index = {},
                    .differing = 1,
                    .elements = 1,
                    .max_abs_diff = UINT64_MAX},
                   {.key = "n", .what = DifferenceKind::kValues, .first_index = {0}, .differing = 1, .elements = 2}};
  report.totals = {.tensors = 6, .objects = 1, .bytes = 5000};
  return report;
}

TEST(CompareText, OneLineADifference) {
  EXPECT_EQ(RenderCompare(Sample(), {}),
            "only in a: x\\x1b\n"
            "only in b\\n: \"\"\n"
            "k: is of two kinds, tensor and object\n"
            "t: dtype is float32 and int8\n"
            "s: shape is [2] and [3]\n"
            "o: value is 1 and 'x'\n"
            "v: 3 of 1,096 elements differ, the first is [0, 5], by at most 0.25\n"
            "i: 1 of 1 element differ, the first is [], by at most 18446744073709551615\n"
            "n: 1 of 2 elements differ, the first is [0]\n"
            "NOT EQUAL: 1 only in the first, 1 only in the second, 7 of the 7 that both have differ\n");
}

TEST(CompareText, Equal) {
  CompareReport report;
  report.equal = true;
  report.totals = {.tensors = 1, .objects = 0, .bytes = 2048};
  EXPECT_EQ(RenderCompare(report, {}), "EQUAL: 1 tensor and 0 objects, 2.0 KiB\n");
  report.totals.close = 1;
  EXPECT_EQ(RenderCompare(report, {}),
            "EQUAL: 1 tensor and 0 objects, 2.0 KiB; 1 tensor not bit for bit, but within the tolerance\n");
}

TEST(CompareText, AScreenfulUnlessAllIsWanted) {
  CompareReport report;
  for (int i = 0; i < 60; ++i) report.only_in_b.push_back(std::to_string(i));
  const std::string some = RenderCompare(report, {});
  EXPECT_NE(some.find(": 49\nand 10 more (-v lists all)\nNOT EQUAL: 60 only in the second, 0 of the 0"),
            std::string::npos)
      << some;
  EXPECT_EQ(RenderCompare(report, {.all = true}).find("more"), std::string::npos);
}

}  // namespace
}  // namespace dcpctl::report
