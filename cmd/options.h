// Declaring and parsing options on top of CLI11: one call each, all messages our own, so that help and errors
// are the same with every version of CLI11. Parsing opens no file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dcpctl/convert.h"
#include "dcpctl/error.h"

namespace dcpctl::cmd {

// `names` as in "-j,--jobs". The help text's first line goes to --help, all of it to the manual. References
// are kept and must outlive the App. An option that is given twice counts as given the last time.
CLI::Option* AddFlag(CLI::App& app, const std::string& names, bool& value, const std::string& help);
// Counts how often it is given.
CLI::Option* AddCounter(CLI::App& app, const std::string& names, unsigned& value, const std::string& help);
CLI::Option* AddText(CLI::App& app, const std::string& names, std::string& value, const std::string& value_name,
                     const std::string& help);
// May be given again and again.
CLI::Option* AddList(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                     const std::string& value_name, const std::string& help);
// FROM=TO, again and again.
CLI::Option* AddRenamings(CLI::App& app, const std::string& names, std::vector<Renaming>& values,
                          const std::string& help);
// A number of bytes with a unit ("256MiB").
CLI::Option* AddSize(CLI::App& app, const std::string& names, uint64_t& bytes, const std::string& help);
CLI::Option* AddNumber(CLI::App& app, const std::string& names, unsigned& value, unsigned most,
                       const std::string& help);
// NAME or NAME=N: without a number it is `otherwise`.
CLI::Option* AddOptionalNumber(CLI::App& app, const std::string& names, std::optional<int>& value, int least, int most,
                               int otherwise, const std::string& value_name, const std::string& help);
// "cpu", "cuda" or "cuda:N".
CLI::Option* AddDevice(CLI::App& app, const std::string& names, std::string& device, const std::string& help);
// The name of a floating-point type.
CLI::Option* AddDType(CLI::App& app, const std::string& names, std::optional<DType>& dtype, const std::string& help);
// A number that is not negative: "1e-5".
CLI::Option* AddTolerance(CLI::App& app, const std::string& names, std::optional<double>& value,
                          const std::string& value_name, const std::string& help);
// A required argument without a dash.
CLI::Option* AddArgument(CLI::App& app, const std::string& name, std::string& value, const std::string& help);

namespace internal {
// `set` gets the position of the word in `words`.
CLI::Option* AddWord(CLI::App& app, const std::string& names, std::vector<std::string> words,
                     std::function<void(size_t)> set, const std::string& help);
}  // namespace internal

// One of a few words.
template <typename T>
CLI::Option* AddChoice(CLI::App& app, const std::string& names, T& value,
                       std::vector<std::pair<std::string, T>> choices, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  return internal::AddWord(
      app, names, std::move(words), [choices = std::move(choices), &value](size_t i) { value = choices[i].second; },
      help);
}

// A command line that makes no sense, and what to do instead.
inline auto WrongUsage(std::string message, std::string advice) {
  return Fail(Error(ErrorKind::kUsage, std::move(message)).Advise(std::move(advice)));
}

enum class Parsed : uint8_t { kRun, kHelp };

// `arguments` without the names of program and command; `command` is for messages. Errors: kUsage.
Result<Parsed> ParseArguments(CLI::App& app, std::string_view command, std::vector<std::string> arguments);

// "--jobs", or "-q" where there is no long name, or the name of an argument.
std::string NameOf(const CLI::Option& option);
// The word in usage lines, "N"; empty for flags.
std::string ValueNameOf(const CLI::Option& option);
// All that a user may give, in groups, in the order of declaration; --help comes last.
std::vector<std::pair<std::string, std::vector<const CLI::Option*>>> OptionGroups(const CLI::App& app);

}  // namespace dcpctl::cmd
