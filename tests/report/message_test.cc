#include "report/message.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dcpctl::report
