#include "cmd/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "base/nearest.h"
#include "base/quote.h"
#include "text/numbers.h"

namespace dcpctl::cmd {
namespace {

// Carries a message of ours through CLI11.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `set` gets the last value as it was typed: CLI11's own conversions differ between versions.
CLI::Option* AddValue(CLI::App& app, const std::string& names, std::function<void(const std::string&)> set,
                      const std::string& value_name, const std::string& help) {
  const auto callback = [set = std::move(set)](const CLI::results_t& results) {
    set(results.back());
    return true;
  };
  return app.add_option(names, CLI::callback_t(callback), help)
      ->type_name(value_name)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// "-j,--jobs" is "--jobs" in messages.
std::string LastName(const std::string& names) { return names.substr(names.rfind(',') + 1); }

std::string OptionNamed(const CLI::App& app, const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  const std::vector<std::string> near = NearestNames(name, known, 1);
  return near.empty() ? "" : "did you mean " + near[0] + "? ";
}

Error UsageError(std::string_view command, std::string message, const std::string& hint = "") {
  return Error(ErrorKind::kUsage, std::move(message))
      .Advise(hint + "`dcpctl " + std::string(command) + " --help` lists the options");
}

// What CLI11 could not place: options it does not know, arguments too many.
std::optional<Error> FirstLeftOver(const CLI::App& app, std::string_view command) {
  for (const std::string& argument : app.remaining()) {
    if (argument == "--") continue;
    if (argument.size() > 1 && argument[0] == '-') {
      return UsageError(command, "unknown option " + Escape(argument.substr(0, argument.find('='))),
                        OptionNamed(app, argument));
    }
    return UsageError(command, "unexpected argument " + Quote(argument));
  }
  return std::nullopt;
}

std::optional<Error> FirstMissing(const CLI::App& app, std::string_view command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required() && option->count() == 0) return UsageError(command, NameOf(*option) + " is missing");
  }
  return std::nullopt;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& typed) {
  for (const CLI::Option* option : app.get_options()) {
    if (typed.size() > 1 && typed[0] == '-' && option->check_name(typed)) return option;
  }
  return nullptr;
}

// CLI11 takes "--key=" for an option whose value comes next.
void SplitEmptyValues(std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || argument.find('=') + 1 != argument.size()) continue;
    arguments[i].pop_back();
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
    ++i;
  }
}

Error Translate(const CLI::App& app, std::string_view command, const CLI::ParseError& error, const std::string& last) {
  if (auto left_over = FirstLeftOver(app, command)) return *left_over;
  if (const CLI::Option* option = FindOption(app, last);
      option && !ValueNameOf(*option).empty() && error.get_name() == "ArgumentMismatch") {
    return UsageError(command, "option " + last + " needs a value: " + ValueNameOf(*option));
  }
  if (auto missing = FirstMissing(app, command)) return *missing;
  return UsageError(command, Escape(error.what()));
}

}  // namespace

namespace internal {

CLI::Option* AddWord(CLI::App& app, const std::string& names, std::vector<std::string> words,
                     std::function<void(size_t)> set, const std::string& help) {
  std::string value_name;
  for (const std::string& word : words) value_name += (value_name.empty() ? "" : "|") + word;
  const auto choose = [names, words, value_name, set = std::move(set)](const std::string& typed) {
    const auto found = std::find(words.begin(), words.end(), typed);
    if (found == words.end()) throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected " + value_name);
    set(static_cast<size_t>(found - words.begin()));
  };
  return AddValue(app, names, choose, value_name, help);
}

}  // namespace internal

CLI::Option* AddFlag(CLI::App& app, const std::string& names, bool& value, const std::string& help) {
  return app.add_flag_callback(
      names, [&value] { value = true; }, help);
}

CLI::Option* AddCounter(CLI::App& app, const std::string& names, unsigned& value, const std::string& help) {
  return app.add_flag_function(
      names, [&value](int64_t count) { value = static_cast<unsigned>(std::max<int64_t>(0, count)); }, help);
}

CLI::Option* AddText(CLI::App& app, const std::string& names, std::string& value, const std::string& value_name,
                     const std::string& help) {
  return AddValue(
      app, names, [&value](const std::string& typed) { value = typed; }, value_name, help);
}

CLI::Option* AddList(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                     const std::string& value_name, const std::string& help) {
  const auto callback = [&values](const CLI::results_t& results) {
    values = results;
    return true;
  };
  return app.add_option(names, CLI::callback_t(callback), help)
      ->type_name(value_name)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* AddRenamings(CLI::App& app, const std::string& names, std::vector<Renaming>& values,
                          const std::string& help) {
  const auto callback = [names, &values](const CLI::results_t& results) {
    values.clear();
    for (const std::string& typed : results) {
      const size_t equals = typed.find('=');
      if (equals == std::string::npos || equals == 0)
        throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected FROM=TO");
      values.push_back({.from = typed.substr(0, equals), .to = typed.substr(equals + 1)});
    }
    return true;
  };
  return app.add_option(names, CLI::callback_t(callback), help)
      ->type_name("FROM=TO")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* AddSize(CLI::App& app, const std::string& names, uint64_t& bytes, const std::string& help) {
  const auto parse = [names, &bytes](const std::string& typed) {
    const Result<uint64_t> size = text::ParseSize(typed);
    if (!size) throw Refusal(LastName(names) + ": " + size.error().Text());
    bytes = *size;
  };
  return AddValue(app, names, parse, "SIZE", help);
}

CLI::Option* AddNumber(CLI::App& app, const std::string& names, unsigned& value, unsigned most,
                       const std::string& help) {
  const auto parse = [names, most, &value](const std::string& typed) {
    unsigned number = 0;
    const char* const end = typed.data() + typed.size();
    const auto [stopped, failure] = std::from_chars(typed.data(), end, number);
    if (typed.empty() || stopped != end || failure != std::errc() || number > most) {
      throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected a number from 0 to " + std::to_string(most));
    }
    value = number;
  };
  return AddValue(app, names, parse, "N", help);
}

CLI::Option* AddOptionalNumber(CLI::App& app, const std::string& names, std::optional<int>& value, int least, int most,
                               int otherwise, const std::string& value_name, const std::string& help) {
  const auto callback = [=, &value](const CLI::results_t& results) {
    // CLI11 gives a flag that has no value of its own a word for yes.
    const std::string& typed = results.back();
    if (typed.empty() || typed == "true") {
      value = otherwise;
      return true;
    }
    int number = 0;
    const char* const end = typed.data() + typed.size();
    const auto [stopped, failure] = std::from_chars(typed.data(), end, number);
    if (stopped != end || failure != std::errc() || number < least || number > most) {
      throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected a number from " + std::to_string(least) +
                    " to " + std::to_string(most));
    }
    value = number;
    return true;
  };
  // An option whose value may be left out would take the next argument for it; a flag takes only what follows `=`.
  return app.add_option(names, CLI::callback_t(callback), help)
      ->expected(0)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("[=" + value_name + "]");
}

CLI::Option* AddDevice(CLI::App& app, const std::string& names, std::string& device, const std::string& help) {
  static const std::string kForm = "cpu|cuda[:N]";
  const auto parse = [names, &device](const std::string& typed) {
    const std::string_view number = typed.starts_with("cuda:") ? std::string_view(typed).substr(5) : "0";
    const bool is_number =
        !number.empty() && number.size() < 4 && number.find_first_not_of("0123456789") == std::string_view::npos;
    if ((typed != "cpu" && typed != "cuda" && !typed.starts_with("cuda:")) || !is_number) {
      throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected " + kForm);
    }
    device = typed;
  };
  return AddValue(app, names, parse, kForm, help);
}

CLI::Option* AddDType(CLI::App& app, const std::string& names, std::optional<DType>& dtype, const std::string& help) {
  const auto parse = [names, &dtype](const std::string& typed) {
    const std::optional<DType> found = DTypeFromName(typed);
    if (!found || !IsFloatingPoint(*found)) {
      throw Refusal(LastName(names) + " is " + Quote(typed) +
                    ", expected a floating-point type: float32, bfloat16, float16, float64, float8_e4m3fn, ...");
    }
    dtype = found;
  };
  return AddValue(app, names, parse, "D", help);
}

CLI::Option* AddTolerance(CLI::App& app, const std::string& names, std::optional<double>& value,
                          const std::string& value_name, const std::string& help) {
  const auto parse = [names, &value](const std::string& typed) {
    double number = 0;
    const char* const end = typed.data() + typed.size();
    const auto [stopped, failure] = std::from_chars(typed.data(), end, number);
    if (typed.empty() || stopped != end || failure != std::errc() || !std::isfinite(number) || std::signbit(number))
      throw Refusal(LastName(names) + " is " + Quote(typed) + ", expected a number such as 0.001 or 1e-5");
    value = number;
  };
  return AddValue(app, names, parse, value_name, help);
}

CLI::Option* AddArgument(CLI::App& app, const std::string& name, std::string& value, const std::string& help) {
  return AddText(app, name, value, "", help)->required()->group("Arguments");
}

Result<Parsed> ParseArguments(CLI::App& app, std::string_view command, std::vector<std::string> arguments) {
  SplitEmptyValues(arguments);
  const std::string last = arguments.empty() ? "" : arguments.back();
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  app.allow_extras();
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return Parsed::kHelp;
  } catch (const Refusal& refusal) {
    return Fail(UsageError(command, refusal.what()));
  } catch (const CLI::ParseError& error) {
    return Fail(Translate(app, command, error, last));
  }
  if (auto left_over = FirstLeftOver(app, command)) return Fail(*left_over);
  return Parsed::kRun;
}

std::string NameOf(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames()[0];
  if (!option.get_snames().empty()) return "-" + option.get_snames()[0];
  return option.get_name(true);
}

std::string ValueNameOf(const CLI::Option& option) {
  std::string name = option.get_type_name();
  // A flag has none of its own, but for a value that may follow its name.
  return option.get_items_expected_max() == 0 && !name.starts_with("[=") ? "" : name;
}

std::vector<std::pair<std::string, std::vector<const CLI::Option*>>> OptionGroups(const CLI::App& app) {
  std::vector<std::pair<std::string, std::vector<const CLI::Option*>>> groups;
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr()) options.push_back(option);
  }
  if (app.get_help_ptr() != nullptr) options.push_back(app.get_help_ptr());
  for (const CLI::Option* option : options) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == option->get_group(); });
    if (found == groups.end()) {
      groups.push_back({option->get_group(), {option}});
    } else {
      found->second.push_back(option);
    }
  }
  return groups;
}

}  // namespace dcpctl::cmd
