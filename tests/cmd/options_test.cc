#include "cmd/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/groups.h"

namespace dcpctl::cmd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// All groups on one command line.
struct Line {
  std::string path;
  bool tree = false;
  Selection selection;
  RunOptions run;
  ReportOptions report;
  std::string error;
  bool help = false;

  explicit Line(std::vector<std::string> arguments) {
    CLI::App app;
    AddArgument(app, "PATH", path, "a path");
    AddFlag(app, "--tree", tree, "a flag");
    AddSelectionGroup(app, selection);
    AddPrefixOptions(app, selection);
    AddOutputGroup(app, run);
    AddRunGroup(app, run);
    AddReportGroup(app, report);
    const auto parsed = ParseArguments(app, "look", std::move(arguments));
    if (!parsed) error = parsed.error().ToString();
    help = parsed && *parsed == Parsed::kHelp;
  }
};

TEST(Options, HaveDefaults) {
  const Line line({"p"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.path, "p");
  EXPECT_EQ(line.run.memory_bytes, uint64_t{256} << 20);
  EXPECT_EQ(line.run.jobs, 0);
  EXPECT_EQ(line.run.device, "cpu");
  EXPECT_EQ(line.report.progress, When::kAuto);
  EXPECT_FALSE(line.tree || line.report.json || line.report.quiet);
}

TEST(Options, SplitRenamingsAtTheFirstEqualsSign) {
  const Line line({"p", "--rename", "_orig_mod=", "--rename=a.b=c=d", "--rename", "^m=n"});
  EXPECT_EQ(line.error, "");
  ASSERT_EQ(line.selection.rename.size(), 3U);
  EXPECT_EQ(line.selection.rename[0].from, "_orig_mod");
  EXPECT_EQ(line.selection.rename[0].to, "");
  EXPECT_EQ(line.selection.rename[1].from, "a.b");
  EXPECT_EQ(line.selection.rename[1].to, "c=d");
  EXPECT_EQ(line.selection.rename[2].from, "^m");
  for (const char* wrong : {"a", "=a", ""})
    EXPECT_THAT(Line({"p", "--rename", wrong}).error, HasSubstr("expected FROM=TO")) << wrong;
}

TEST(Options, FillTheirStructs) {
  const Line line({"--memory=1.5GiB", "-j4", "--device", "cuda:1", "--reflink", "never", "--force", "--dry-run", "-qvv",
                   "--json", "--progress", "always", "--color=never", "p", "--strip-prefix", "a", "--add-prefix=b.c"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.run.memory_bytes, uint64_t{3} << 29);
  EXPECT_EQ(line.run.jobs, 4);
  EXPECT_EQ(line.run.device, "cuda:1");
  EXPECT_EQ(line.run.reflink, Reflink::kNever);
  EXPECT_TRUE(line.run.force && line.run.dry_run && line.report.quiet && line.report.json);
  EXPECT_EQ(line.report.verbose, 2);
  EXPECT_EQ(line.report.progress, When::kAlways);
  EXPECT_EQ(line.report.color, When::kNever);
  EXPECT_EQ(line.selection.strip_prefix, "a");
  EXPECT_EQ(line.selection.add_prefix, "b.c");
}

TEST(Options, ListsTakeOneValueAtATime) {
  const Line line({"--select", "a", "--select=[bc]", "p", "--exclude", ""});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.path, "p");
  EXPECT_THAT(line.selection.select, ElementsAre("a", "[bc]"));
  EXPECT_THAT(line.selection.exclude, ElementsAre(""));
}

TEST(Options, EmptyValuesAreValues) {
  const Line line({"--strip-prefix=", "--tree", "p"});
  EXPECT_EQ(line.error, "");
  EXPECT_TRUE(line.tree);
  EXPECT_EQ(line.selection.strip_prefix, "");
}

TEST(Options, TheLastValueCounts) {
  const Line line({"-j", "2", "p", "--jobs=3", "--color", "always", "--color", "never"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.run.jobs, 3);
  EXPECT_EQ(line.report.color, When::kNever);
}

TEST(Options, DashesAndDoubleDashAreArguments) {
  EXPECT_EQ(Line({"-"}).path, "-");
  EXPECT_EQ(Line({"--", "--tree"}).path, "--tree");
  EXPECT_EQ(Line({"--tree", "--", "p"}).error, "");
}

TEST(Options, HelpWinsOverWhatIsMissing) {
  EXPECT_TRUE(Line({"--help"}).help);
  EXPECT_TRUE(Line({"p", "-h", "--unknown"}).help);
}

TEST(Options, UnknownOnesNameTheNearest) {
  EXPECT_EQ(Line({"p", "--tre"}).error,
            "dcpctl: error: unknown option --tre\n  did you mean --tree? `dcpctl look --help` lists the options");
  EXPECT_THAT(Line({"--momery=1G"}).error, HasSubstr("unknown option --momery\n  did you mean --memory?"));
  EXPECT_EQ(Line({"p", "-x"}).error, "dcpctl: error: unknown option -x\n  `dcpctl look --help` lists the options");
}

TEST(Options, SayWhatIsMissingOrTooMuch) {
  EXPECT_THAT(Line({}).error, HasSubstr("error: PATH is missing"));
  EXPECT_THAT(Line({"p", "q\n"}).error, HasSubstr("error: unexpected argument \"q\\n\""));
  EXPECT_THAT(Line({"p", "--memory"}).error, HasSubstr("error: option --memory needs a value: SIZE"));
}

TEST(Options, SayWhatAValueShouldBe) {
  EXPECT_THAT(Line({"p", "--color", "blue"}).error,
              HasSubstr("error: --color is \"blue\", expected auto|always|never"));
  EXPECT_THAT(Line({"p", "-j", "-1"}).error, HasSubstr("error: --jobs is \"-1\", expected a number from 0 to 1024"));
  EXPECT_THAT(Line({"p", "-j", "9999999999"}).error, HasSubstr("error: --jobs is"));
  EXPECT_THAT(Line({"p", "--memory", "lots"}).error, HasSubstr("error: --memory: "));
  EXPECT_THAT(Line({"p", "--device", "tpu"}).error, HasSubstr("error: --device is \"tpu\", expected cpu|cuda[:N]"));
}

}  // namespace
}  // namespace dcpctl::cmd
