#include "cli/golden.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "cli/child.h"

namespace dcpctl::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kSectionNames = {"env",        "setup",  "args",       "exit",  "stdout",
                                                            "stdout-has", "stderr", "stderr-has", "files", "check"};
// Stands for the newline that the last line of an output lacks.
constexpr std::string_view kNoNewline = "\\ no newline at the end\n";
constexpr std::string_view kDataLink = "data";

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// The part that `line` opens, if it does.
std::optional<Section> Heading(std::string_view line) {
  if (!line.starts_with("# ")) return std::nullopt;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view name = line.substr(2, colon - 2);
  if (std::ranges::find(kSectionNames, name) == kSectionNames.end()) return std::nullopt;
  std::string_view value = line.substr(colon + 1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  return Section{.name = std::string(name), .value = std::string(value), .body = ""};
}

void ReplaceAll(std::string& text, const std::string& from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A folder of this test alone, with a link to the samples in it; removed at the end.
class Workplace {
 public:
  explicit Workplace(const Setting& setting) : setting_(setting) {
    std::string name = (fs::temp_directory_path() / "dcpctl-golden-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = fs::canonical(name);
    fs::create_directory_symlink(setting_.testdata, path_ / kDataLink);
  }
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

  // Without the paths of this run and this machine.
  [[nodiscard]] std::string Portable(std::string text) const {
    ReplaceAll(text, path_.string(), "$TMP");
    ReplaceAll(text, setting_.testdata.string(), "$DATA");
    ReplaceAll(text, setting_.binary.string(), "$BIN");
    return text;
  }

  [[nodiscard]] std::vector<std::string> Environment(const Golden& golden) const {
    std::vector<std::string> variables = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                          "LC_ALL=C.UTF-8",
                                          "TZ=UTC",
                                          "HOME=" + path_.string(),
                                          "TMP=" + path_.string(),
                                          "DATA=" + setting_.testdata.string(),
                                          "BIN=" + setting_.binary.string(),
                                          "DCPCTL_PLUGIN_DIR=" + setting_.plugins.string()};
    for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
    }
    for (const Section& section : golden.sections) {
      if (section.name == "env") variables.push_back(section.value);
    }
    return variables;
  }

  [[nodiscard]] std::string Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      const std::string name = entry.path().lexically_relative(path_).generic_string();
      if (name != kDataLink) names.push_back(name + (entry.is_directory() ? "/" : ""));
    }
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += name + "\n";
    return text;
  }

 private:
  const Setting& setting_;
  fs::path path_;
};

// Why a helper command of the test failed; empty when it did not.
std::string RunHelper(const Golden& golden, std::string_view name, const Workplace& place, const Setting& setting) {
  const Section* section = golden.Find(name);
  if (section == nullptr) return "";
  const ChildResult result =
      RunShell(section->value + "\n" + section->body, place.path(), place.Environment(golden), setting.time_limit);
  if (result.timed_out) return std::string(name) + " ran out of time";
  if (result.exit_status == 0) return "";
  return std::string(name) + " failed with status " + std::to_string(result.exit_status) + "\n" +
         place.Portable(result.out + result.err);
}

std::string AsBlock(const std::string& text) {
  return text.empty() || text.ends_with('\n') ? text : text + "\n" + std::string(kNoNewline);
}

std::string Expected(const Golden& golden, std::string_view name) {
  const Section* section = golden.Find(name);
  return section == nullptr ? "" : section->body;
}

std::string ExpectedExit(const Golden& golden) {
  const Section* section = golden.Find("exit");
  return section == nullptr ? "0" : section->value;
}

std::string Difference(std::string_view name, const std::string& expected, const std::string& found) {
  if (expected == found) return "";
  return "--- " + std::string(name) + ", expected:\n" + expected + "--- " + std::string(name) + ", found:\n" + found;
}

std::string CompareStream(const Golden& golden, const std::string& name, const std::string& text) {
  std::string trouble;
  const std::string pattern_name = name + "-has";
  const bool exact = golden.Find(name) != nullptr || golden.Find(pattern_name) == nullptr;
  if (exact) trouble += Difference(name, Expected(golden, name), AsBlock(text));
  for (const Section& section : golden.sections) {
    if (section.name != pattern_name || text.find(section.value) != std::string::npos) continue;
    trouble += "--- " + name + " has no \"" + section.value + "\":\n" + text;
  }
  return trouble;
}

Section* FindMutable(Golden& golden, std::string_view name) {
  const auto found = std::ranges::find(golden.sections, name, &Section::name);
  return found == golden.sections.end() ? nullptr : &*found;
}

void SetBody(Golden& golden, const std::string& name, const std::string& body) {
  Section* section = FindMutable(golden, name);
  if (section != nullptr) {
    section->body = body;
  } else if (!body.empty()) {
    golden.sections.push_back({.name = name, .value = "", .body = body});
  }
}

}  // namespace

const Section* Golden::Find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &Section::name);
  return found == sections.end() ? nullptr : &*found;
}

Golden ParseGolden(std::string_view text) {
  Golden golden;
  for (const std::string_view line : Lines(text)) {
    if (std::optional<Section> section = Heading(line)) {
      golden.sections.push_back(std::move(*section));
    } else {
      (golden.sections.empty() ? golden.description : golden.sections.back().body) += line;
    }
  }
  return golden;
}

std::string FormatGolden(const Golden& golden) {
  std::string text = golden.description;
  for (const Section& section : golden.sections) {
    text += "# " + section.name + ":" + (section.value.empty() ? "" : " " + section.value) + "\n" + section.body;
  }
  return text;
}

Outcome RunGolden(const Golden& golden, const Setting& setting) {
  const Workplace place(setting);
  Outcome outcome;
  outcome.trouble = RunHelper(golden, "setup", place, setting);
  if (!outcome.trouble.empty()) return outcome;
  const Section* args = golden.Find("args");
  const std::string command = "exec \"$BIN\" " + (args == nullptr ? "" : args->value);
  const ChildResult result = RunShell(command, place.path(), place.Environment(golden), setting.time_limit);
  outcome.exit_status = std::to_string(result.exit_status);
  outcome.out = place.Portable(result.out);
  outcome.err = place.Portable(result.err);
  outcome.files = place.Files();
  outcome.trouble = result.timed_out ? "the program ran out of time" : RunHelper(golden, "check", place, setting);
  return outcome;
}

std::string Compare(const Golden& golden, const Outcome& outcome) {
  std::string trouble = outcome.trouble.empty() ? "" : outcome.trouble + "\n";
  if (outcome.exit_status != ExpectedExit(golden)) {
    trouble += "--- exit status is " + outcome.exit_status + ", expected " + ExpectedExit(golden) + "\n";
  }
  trouble += CompareStream(golden, "stdout", outcome.out);
  trouble += CompareStream(golden, "stderr", outcome.err);
  if (golden.Find("files") != nullptr) trouble += Difference("files", Expected(golden, "files"), outcome.files);
  return trouble;
}

Golden Rebased(Golden golden, const Outcome& outcome) {
  if (ExpectedExit(golden) != outcome.exit_status) {
    if (Section* section = FindMutable(golden, "exit")) {
      section->value = outcome.exit_status;
    } else {
      golden.sections.push_back({.name = "exit", .value = outcome.exit_status, .body = ""});
    }
  }
  if (golden.Find("stdout-has") == nullptr) SetBody(golden, "stdout", AsBlock(outcome.out));
  if (golden.Find("stderr-has") == nullptr) SetBody(golden, "stderr", AsBlock(outcome.err));
  if (golden.Find("files") != nullptr) SetBody(golden, "files", outcome.files);
  return golden;
}

}  // namespace dcpctl::golden
