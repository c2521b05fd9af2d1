#include "cmd/help.h"

#include <algorithm>
#include <cctype>

#include "cmd/options.h"
#include "dcpctl/version.h"

namespace dcpctl::cmd {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 30;

// `text` broken at spaces, lines after the first indented to `column`.
std::string Wrap(const std::string& text, size_t column) {
  std::string out;
  size_t used = column;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool first = used == column;
    if (!first && used + 1 + word.size() > kWidth) {
      out += "\n" + std::string(column, ' ') + word;
      used = column + word.size();
    } else {
      out += (first ? "" : " ") + word;
      used += word.size() + (first ? 0 : 1);
    }
    at = end + 1;
  }
  return out;
}

// "  LEFT      text", on two lines when LEFT is too long.
std::string HelpLine(std::string left, const std::string& text) {
  left.insert(0, "  ");
  left += left.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - left.size(), ' ');
  return left + Wrap(text, kHelpColumn) + "\n";
}

bool IsArgument(const CLI::Option& option) { return option.get_lnames().empty() && option.get_snames().empty(); }

// "-j, --jobs N", long names in one column.
std::string OptionText(const CLI::Option& option) {
  if (IsArgument(option)) return NameOf(option);
  std::string text =
      option.get_snames().empty() ? "    " : "-" + option.get_snames()[0] + (option.get_lnames().empty() ? "" : ", ");
  for (const std::string& name : option.get_lnames()) text += "--" + name;
  const std::string value = ValueNameOf(option);
  // "[=LEVEL]" belongs to the name.
  return value.empty() ? text : text + (value.starts_with('[') ? "" : " ") + value;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// "only this" as a sentence: "Only this."
std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

// A word of mdoc text: nothing that roff would act on.
std::string ManualWord(const std::string& word) {
  std::string out = word.starts_with('.') || word.starts_with('\'') ? "\\&" : "";
  for (const char c : word) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

// Text for mdoc: every sentence begins a line, and no line is long.
std::string ManualText(const std::string& text) {
  std::string out;
  size_t used = 0;
  bool sentence_ends = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = ManualWord(text.substr(at, end - at));
    const bool breaks = used > 0 && (sentence_ends || used + 1 + word.size() > kWidth);
    out += (used == 0 ? "" : breaks ? "\n" : " ") + word;
    used = (breaks || used == 0 ? 0 : used + 1) + word.size();
    sentence_ends = word.ends_with('.');
    at = end + 1;
  }
  return out;
}

std::string ManualItem(const CLI::Option& option) {
  std::string item = ".It";
  if (IsArgument(option)) return item + " Ar " + NameOf(option) + "\n";
  if (!option.get_snames().empty()) item += " Fl " + option.get_snames()[0] + (option.get_lnames().empty() ? "" : " ,");
  for (const std::string& name : option.get_lnames()) item += " Fl -" + name;
  std::string value = ValueNameOf(option);
  for (size_t bar = value.find('|'); bar != std::string::npos; bar = value.find('|', bar + 3))
    value.replace(bar, 1, " | ");
  if (value.starts_with("[=")) return item + " Ns Oo = Ns Ar " + value.substr(2, value.size() - 3) + " Oc\n";
  return item + (value.empty() ? "" : " Ar " + value) + "\n";
}

}  // namespace

std::string ProgramHelp() {
  std::string out = "dcpctl " + std::string(kVersion) + ": convert and inspect PyTorch distributed checkpoints\n\n";
  out += "Usage: dcpctl COMMAND [OPTIONS] ARGUMENTS\n\nCommands:\n";
  for (const CommandInfo& command : Commands())
    out += HelpLine(std::string(command.name), std::string(command.summary));
  out += "\nOptions:\n" + HelpLine("-h, --help", "print this help") + HelpLine("    --version", "print the version");
  return out + "\n`dcpctl COMMAND --help` lists the options of a command; dcpctl(1) is the manual.\n";
}

std::string CommandHelp(const CommandInfo& command, const CLI::App& app) {
  std::string out = "dcpctl " + std::string(command.name) + ": " + std::string(command.summary) + "\n\n";
  out += "Usage: dcpctl " + std::string(command.name) + " [OPTIONS] " + std::string(command.arguments) + "\n";
  for (const auto& [title, options] : OptionGroups(app)) {
    out += "\n" + title + ":\n";
    for (const CLI::Option* option : options)
      out += HelpLine(OptionText(*option), FirstLine(option->get_description()));
  }
  return out + "\nThe manual, dcpctl-" + std::string(command.name) + "(1), says more about each.\n";
}

std::string ManualOptions(const CLI::App& app) {
  std::string out;
  for (const auto& [title, options] : OptionGroups(app)) {
    out += ".Ss " + title + "\n.Bl -tag -width Ds\n";
    for (const CLI::Option* option : options) {
      const std::string& text = option->get_description();
      const std::string first = FirstLine(text);
      const std::string rest = first.size() < text.size() ? text.substr(first.size() + 1) : "";
      out += ManualItem(*option) + ManualText(Sentence(first)) + "\n";
      if (!rest.empty()) out += ManualText(rest) + "\n";
    }
    out += ".El\n";
  }
  return out;
}

}  // namespace dcpctl::cmd
