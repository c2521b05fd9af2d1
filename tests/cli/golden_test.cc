#include "cli/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace dcpctl::golden {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kFolder = fs::path(DCPCTL_SOURCE_DIR) / "tests" / "cli";
// Sanitizers slow the program down, but a test that needs more than this hangs.
const Setting kProgram = {.binary = DCPCTL_BINARY, .testdata = DCPCTL_TESTDATA_DIR, .plugins = DCPCTL_FAKE_PLUGIN_DIR};

std::string Slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class GoldenFile : public ::testing::Test {
 public:
  explicit GoldenFile(fs::path path) : path_(std::move(path)) {}

  void TestBody() override {
    const Golden golden = ParseGolden(Slurp(path_));
    const Outcome outcome = RunGolden(golden, kProgram);
    const std::string trouble = Compare(golden, outcome);
    if (trouble.empty()) return;
    if (std::getenv("DCPCTL_REBASE") != nullptr && outcome.trouble.empty()) {
      std::ofstream(path_) << FormatGolden(Rebased(golden, outcome));
      GTEST_SKIP() << "rewritten: " << path_.string();
    }
    const Section* args = golden.Find("args");
    FAIL() << path_.lexically_relative(DCPCTL_SOURCE_DIR).string() << ": dcpctl "
           << (args == nullptr ? "" : args->value) << "\n"
           << trouble;
  }

 private:
  fs::path path_;
};

void RegisterGoldens() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".test") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const std::string folder = path.parent_path().lexically_relative(kFolder).generic_string();
    ::testing::RegisterTest(("Cli/" + folder).c_str(), path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path]() -> ::testing::Test* { return new GoldenFile(path); });
  }
}

// The runner itself, with the shell's own commands in place of the program.

Outcome RunEcho(const std::string& text, const Setting& setting = {.binary = "/bin/echo", .testdata = "/usr"}) {
  return RunGolden(ParseGolden(text), setting);
}

TEST(GoldenRunner, ReadsAndWritesTheSameText) {
  const std::string text = "About this.\n\n# args: a 'b c'\n# exit: 3\n# stdout:\n# no: heading\nx\n# stderr:\n";
  const Golden golden = ParseGolden(text);
  EXPECT_EQ(golden.description, "About this.\n\n");
  EXPECT_EQ(golden.Find("args")->value, "a 'b c'");
  EXPECT_EQ(golden.Find("stdout")->body, "# no: heading\nx\n");
  EXPECT_EQ(FormatGolden(golden), text);
}

TEST(GoldenRunner, ReplacesThePathsOfTheRun) {
  const Outcome outcome = RunEcho("# args: \"$TMP/a\" '$x' $DATA/b $BIN $V\n# env: V=1 2\n");
  EXPECT_EQ(outcome.out, "$TMP/a $x $DATA/b $BIN 1 2\n");
  EXPECT_EQ(outcome.exit_status, "0");
}

TEST(GoldenRunner, RunsSetupAndCheckInTheFreshFolder) {
  const Outcome outcome =
      RunEcho("# setup:\nmkdir d\necho 1 > d/f\n# args: hello\n# check:\ntest -s d/f\ntest -d data/bin\n");
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.files, "d/\nd/f\n");
  EXPECT_THAT(RunEcho("# args: hello\n# check: false\n").trouble, HasSubstr("check failed with status 1"));
  EXPECT_THAT(RunEcho("# setup: exit 7\n").trouble, HasSubstr("setup failed with status 7"));
}

TEST(GoldenRunner, EndsACommandThatHangs) {
  const Setting setting = {.binary = "/bin/sleep", .testdata = "/usr", .time_limit = std::chrono::milliseconds(100)};
  const Outcome outcome = RunEcho("# args: 60 | cat\n", setting);
  EXPECT_EQ(outcome.trouble, "the program ran out of time");
}

TEST(GoldenRunner, ComparesExactlyUnlessAskedForAPart) {
  const Outcome outcome = {.trouble = "", .exit_status = "3", .out = "one\ntwo", .err = "", .files = ""};
  EXPECT_EQ(Compare(ParseGolden("# exit: 3\n# stdout:\none\ntwo\n\\ no newline at the end\n"), outcome), "");
  EXPECT_EQ(Compare(ParseGolden("# exit: 3\n# stdout-has: ne\n# stdout-has: two\n"), outcome), "");
  EXPECT_THAT(Compare(ParseGolden("# exit: 3\n# stdout-has: six\n"), outcome), HasSubstr("stdout has no \"six\""));
  EXPECT_THAT(Compare(ParseGolden("# exit: 3\n"), outcome), HasSubstr("stdout, found:\none"));
  EXPECT_THAT(Compare(ParseGolden("# stdout-has:\n"), outcome), HasSubstr("exit status is 3, expected 0"));
}

TEST(GoldenRunner, RebasesToWhatWasFound) {
  const Outcome outcome = {.trouble = "", .exit_status = "1", .out = "new\n", .err = "warning\n", .files = "f\n"};
  const Golden golden = Rebased(ParseGolden("# args: x\n# stdout:\nold\n# stderr-has: warn\n"), outcome);
  EXPECT_EQ(FormatGolden(golden), "# args: x\n# stdout:\nnew\n# stderr-has: warn\n# exit: 1\n");
  EXPECT_EQ(Compare(golden, outcome), "");
}

}  // namespace
}  // namespace dcpctl::golden

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  dcpctl::golden::RegisterGoldens();
  return RUN_ALL_TESTS();
}
