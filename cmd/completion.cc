#include "cmd/completion.h"

#include <algorithm>
#include <vector>

#include "base/quote.h"
#include "cmd/command.h"
#include "cmd/options.h"

namespace dcpctl::cmd {
namespace {

struct OptionWords {
  std::string name;        // "--color"
  std::string short_name;  // "v", or empty
  std::string help;
  std::vector<std::string> choices;  // words that its value may be; empty when it is free
  bool takes_value = false;
};

struct CommandWords {
  std::string name;
  std::string help;
  std::vector<OptionWords> options;
};

std::vector<std::string> SplitChoices(const std::string& value_name) {
  std::vector<std::string> words;
  if (value_name.find('|') == std::string::npos) return words;
  for (size_t at = 0; at <= value_name.size();) {
    const size_t bar = std::min(value_name.find('|', at), value_name.size());
    // "cuda[:N]" is offered without its optional part.
    words.push_back(value_name.substr(at, std::min(bar, value_name.find('[', at)) - at));
    at = bar + 1;
  }
  return words;
}

CommandWords WordsOf(const CommandInfo& info) {
  CommandWords words{std::string(info.name), std::string(info.summary), {}};
  CLI::App app;
  const std::unique_ptr<Command> command = info.make();
  command->Declare(app);
  for (const auto& [title, options] : OptionGroups(app)) {
    for (const CLI::Option* option : options) {
      if (option->get_lnames().empty()) continue;
      const std::string& help = option->get_description();
      words.options.push_back({.name = NameOf(*option),
                               .short_name = option->get_snames().empty() ? "" : option->get_snames()[0],
                               .help = help.substr(0, help.find('\n')),
                               .choices = SplitChoices(ValueNameOf(*option)),
                               .takes_value = !ValueNameOf(*option).empty()});
    }
  }
  return words;
}

std::vector<CommandWords> AllWords() {
  std::vector<CommandWords> words;
  for (const CommandInfo& command : Commands()) words.push_back(WordsOf(command));
  return words;
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

// In single quotes for a shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string BashScript() {
  std::string commands;
  std::string options;
  std::string values;
  for (const CommandWords& command : AllWords()) {
    commands += command.name + " ";
    std::string names;
    for (const OptionWords& option : command.options) {
      names += option.name + " ";
      if (option.takes_value)
        values +=
            "    " + command.name + ":" + option.name + ") words=" + Quoted(Join(option.choices)) + "; value=1 ;;\n";
    }
    options += "    " + command.name + ") words='" + names + "' ;;\n";
  }
  return "# bash completion for dcpctl\n"
         "_dcpctl() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]//-/_} words= "
         "value=\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         commands +
         "--help --version' -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command:$prev in\n" +
         values +
         "  esac\n"
         "  if [ -n \"$value\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  case $cur in\n"
         "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _dcpctl dcpctl\n";
}

std::string FishScript() {
  std::string out = "# fish completion for dcpctl\n";
  for (const CommandWords& command : AllWords()) {
    out += "complete -c dcpctl -n __fish_use_subcommand -f -a " + command.name + " -d " + Quoted(command.help) + "\n";
    for (const OptionWords& option : command.options) {
      out += "complete -c dcpctl -n '__fish_seen_subcommand_from " + command.name + "' -l " + option.name.substr(2);
      if (!option.short_name.empty()) out += " -s " + option.short_name;
      if (option.takes_value) out += option.choices.empty() ? " -x" : " -x -a " + Quoted(Join(option.choices));
      out += " -d " + Quoted(option.help) + "\n";
    }
  }
  return out;
}

// zsh gives brackets and colons of a description a meaning.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshScript() {
  std::string commands;
  std::string cases;
  for (const CommandWords& command : AllWords()) {
    commands += "    " + Quoted(command.name + ":" + ZshText(command.help)) + "\n";
    cases += "    " + command.name + ")\n      _arguments";
    for (const OptionWords& option : command.options) {
      std::string spec = option.name + "[" + ZshText(option.help) + "]";
      if (option.takes_value)
        spec += ":value:" + (option.choices.empty() ? std::string() : "(" + Join(option.choices) + ")");
      cases += " \\\n        " + Quoted(spec);
    }
    cases += " \\\n        '*:file:_files'\n      ;;\n";
  }
  return "#compdef dcpctl\n"
         "_dcpctl() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=${words[2]//-/_}\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_dcpctl \"$@\"\n";
}

}  // namespace

Result<std::string> CompletionScript(std::string_view shell) {
  if (shell == "bash") return BashScript();
  if (shell == "zsh") return ZshScript();
  if (shell == "fish") return FishScript();
  return Fail(ErrorKind::kUsage, "completion is for " + Quote(shell) + ", expected bash, zsh or fish");
}

}  // namespace dcpctl::cmd
