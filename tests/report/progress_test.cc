#include "report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcpctl::report {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A clock that stands still until it is moved, and what was written.
struct Screen {
  std::chrono::steady_clock::time_point now{};
  size_t width = 80;
  std::vector<std::string> writes;

  ProgressLine Line(bool redraw) {
    return ProgressLine([this](std::string_view text) { writes.emplace_back(text); },
                        {.redraw = redraw, .width = [this] { return width; }, .now = [this] { return now; }});
  }
};

constexpr uint64_t kMiB = 1 << 20;

TEST(Progress, DrawsAtMostTenTimesASecond) {
  Screen screen;
  ProgressLine line = screen.Line(true);
  line.OnStage("copy", 100 * kMiB);
  for (int i = 0; i < 100; ++i) {
    screen.now += milliseconds(10);
    line.OnBytes(kMiB);
  }
  EXPECT_EQ(screen.writes.size(), 10);
  EXPECT_EQ(screen.writes[4], "\r\x1b[Kcopy  50%  50.0 MiB of 100.0 MiB  100.0 MiB/s  1 s left");
  line.Finish();
  EXPECT_EQ(screen.writes.back(), "\r\x1b[K");
}

TEST(Progress, LeavesOutWhatDoesNotFit) {
  Screen screen;
  ProgressLine line = screen.Line(true);
  line.OnStage("copy", 100 * kMiB);
  screen.now += milliseconds(500);
  screen.width = 40;
  line.OnBytes(50 * kMiB);
  screen.now += milliseconds(500);
  screen.width = 3;
  line.OnBytes(1);
  EXPECT_THAT(screen.writes, ElementsAre("\r\x1b[Kcopy  50%  50.0 MiB of 100.0 MiB", "\r\x1b[Kc…"));
}

TEST(Progress, SaysNothingOfAShortRun) {
  Screen screen;
  ProgressLine line = screen.Line(true);
  line.OnStage("copy", kMiB);
  line.OnBytes(kMiB);
  line.Finish();
  EXPECT_THAT(screen.writes, IsEmpty());
}

TEST(Progress, WritesLinesWhereThereIsNoTerminal) {
  Screen screen;
  ProgressLine line = screen.Line(false);
  line.OnStage("copy", 4 * kMiB);
  for (int i = 0; i < 4; ++i) {
    screen.now += milliseconds(600);
    line.OnBytes(kMiB);
  }
  line.Finish();
  EXPECT_THAT(screen.writes, ElementsAre("copy  50%  2.0 MiB of 4.0 MiB  1.7 MiB/s  1 s left\n",
                                         "copy  100%  4.0 MiB of 4.0 MiB  1.7 MiB/s\n"));
}

TEST(Progress, KnowsStagesWithoutATotal) {
  Screen screen;
  ProgressLine line = screen.Line(true);
  line.OnStage("survey", 0);
  screen.now += milliseconds(200);
  line.OnBytes(3000);
  EXPECT_THAT(screen.writes, ElementsAre("\r\x1b[Ksurvey  2.9 KiB"));
}

}  // namespace
}  // namespace dcpctl::report
