#include "report/message.h"

#include <gtest/gtest.h>

#include "report/convert_text.h"

namespace dcpctl::report {
namespace {

TEST(Message, ErrorIsTheContractsLine) {
  const Error error =
      Error(ErrorKind::kCorrupt, {.file = "a/b", .offset = 0x1f}, "signature is 0").Advise("run verify");
  EXPECT_EQ(RenderError(error), "a/b:0x1f: error: signature is 0\n  run verify\n");
  EXPECT_EQ(RenderError(error, {.color = true}), "a/b:0x1f: \x1b[1;31merror:\x1b[0m signature is 0\n  run verify\n");
}

TEST(Message, FindingNamesFileAndKey) {
  const Finding finding{
      .id = "x", .severity = Severity::kWarning, .file = "__0_0.distcp", .key = "w", .message = "left over"};
  EXPECT_EQ(RenderFinding(finding, "ckpt"), "ckpt/__0_0.distcp: warning: left over (key \"w\")\n");
}

TEST(Message, FindingWithoutAFileIsTheCheckpoints) {
  EXPECT_EQ(RenderFinding({.id = "x", .message = "a\nb"}, "ckpt"), "ckpt: note: a\\nb\n");
}

TEST(Message, FindingMayNameAFileInFull) {
  EXPECT_EQ(RenderFinding({.id = "x", .file = "ckpt/.metadata", .message = "m"}, "ckpt"), "ckpt/.metadata: note: m\n");
}

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

}  // namespace
}  // namespace dcpctl::report
