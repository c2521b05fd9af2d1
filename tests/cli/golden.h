// Runs one command line of the program as a text file describes it, and compares what it did with what the file
// expects. README.md beside this file describes the form. Knows nothing of the commands.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dcpctl::golden {

// One part of a .test file: what follows `# name:` on that line, and the lines below it up to the next part.
struct Section {
  std::string name;
  std::string value;
  std::string body;  // whole lines, each with its newline
};

struct Golden {
  std::string description;  // the lines before the first part
  std::vector<Section> sections;

  [[nodiscard]] const Section* Find(std::string_view name) const;
};

// Where the program and the samples are. `time_limit` is for each command of a test.
struct Setting {
  std::filesystem::path binary;
  std::filesystem::path testdata;
  std::filesystem::path plugins = {};  // with the fakes that the program finds
  std::chrono::milliseconds time_limit = std::chrono::seconds(10);
};

// What the program did, with the paths of this run replaced by $TMP, $DATA and $BIN.
struct Outcome {
  std::string trouble;  // setup or check failed, or time ran out: why; else empty
  std::string exit_status;
  std::string out;
  std::string err;
  std::string files;  // what is left in $TMP: sorted relative paths, a line each
};

[[nodiscard]] Golden ParseGolden(std::string_view text);
[[nodiscard]] std::string FormatGolden(const Golden& golden);

[[nodiscard]] Outcome RunGolden(const Golden& golden, const Setting& setting);
// A description of every difference; empty when there is none.
[[nodiscard]] std::string Compare(const Golden& golden, const Outcome& outcome);
// The same test with the exit status and texts of `outcome` as the expected ones.
[[nodiscard]] Golden Rebased(Golden golden, const Outcome& outcome);

}  // namespace dcpctl::golden
