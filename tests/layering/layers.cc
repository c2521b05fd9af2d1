#include "layering/layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace dcpctl::layers {
namespace {

using Names = std::set<std::string, std::less<>>;

// A folder may include those on its right, and all that those may.
const std::map<std::string, Names, std::less<>> kMayInclude = {
    {"cmd", {"ops", "report"}},
    {"ops", {"check", "ranks", "engine", "plan", "mesh", "dcp", "torch", "safetensors"}},
    {"check", {"engine", "dcp", "torch", "safetensors"}},
    {"dcp", {"torch", "safetensors", "pickle", "model", "io"}},
    {"torch", {"pickle", "zip", "model", "io"}},
    {"safetensors", {"text", "model", "io"}},
    {"engine", {"plan", "plugin", "io"}},
    {"ranks", {"plugin", "io"}},
    {"report", {"plan", "model", "text"}},
    {"plan", {"model"}},
    {"mesh", {"model"}},
    {"model", {"base"}},
    {"pickle", {"base"}},
    {"zip", {"base"}},
    {"io", {"base"}},
    {"text", {"base"}},
    {"plugin", {"base"}},
    {"plugin/torch", {"plugin"}},
    {"plugin/mpi", {"plugin"}},
    {"plugin/cuda", {"plugin"}},
    {"base", {}},
    {"public", {}},
};

// Headers in <> that are not the C++ standard library, by the beginning of their name, and who may use them.
// What is named nowhere here (all of POSIX, above all) is for kSystemFolders alone.
const std::vector<std::pair<std::string_view, Names>> kForeign = {
    {"tl/expected.hpp", {"public"}},
    {"isa-l/", {"base"}},
    {"openssl/", {"base"}},
    {"zlib.h", {"base"}},
    {"zstd", {"base"}},
    {"nlohmann/",
     {"safetensors", "report", "lib/ops/layout_file.cc", "lib/ops/manifest_file.cc", "lib/ops/parse_json.h"}},
    {"CLI/", {"cmd"}},
    {"spdlog/", {"cmd"}},
};
const Names kSystemFolders = {"io", "plugin", "plugin/torch", "plugin/mpi", "plugin/cuda"};

// Parts of the standard library that reach outside the process or depend on time, and who may use them.
const std::vector<std::pair<std::string_view, Names>> kImpure = {
    {"csignal", {"io", "cmd/main.cc"}},
    {"fstream", {"io"}},
    {"iostream", {"cmd"}},
};
// Planning and parsing are pure: equal inputs give equal outputs, whatever the threads and the clock do.
const Names kPure = {"public", "model", "mesh", "pickle", "zip", "plan"};
const Names kNotInPure = {"thread", "mutex", "condition_variable", "chrono", "random", "future", "semaphore"};

constexpr const char* kTextTables = "lib/base/text_hash.h";

struct Directive {
  size_t line;
  std::string name;  // "include", "ifdef", ...
  std::string rest;
};

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::vector<Directive> Directives(const std::string& text) {
  std::vector<Directive> found;
  std::istringstream in(text);
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    const std::string trimmed = Trim(line);
    if (trimmed.empty() || trimmed[0] != '#') continue;
    const std::string body = Trim(std::string_view(trimmed).substr(1));
    const size_t end = std::min(body.find_first_of(" \t<\""), body.size());
    found.push_back({number, body.substr(0, end), Trim(std::string_view(body).substr(end))});
  }
  return found;
}

// "public" for include/dcpctl, "cmd", or the folder below lib/ ("plugin/mpi" for nested ones).
std::string FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view folder = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  if (folder == "include/dcpctl") return "public";
  if (folder.starts_with("lib/")) return std::string(folder.substr(4));
  return std::string(folder);
}

Names Closure(const std::string& folder) {
  Names reached = {folder, "public"};
  std::vector<std::string> open = {folder};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const std::string& below : kMayInclude.at(next)) {
      if (reached.insert(below).second) open.push_back(below);
    }
  }
  return reached;
}

std::string Join(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nobody" : text;
}

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files) paths_.insert(file.path);
  }

  void Check(const SourceFile& file) {
    path_ = file.path;
    folder_ = FolderOf(path_);
    if (!kMayInclude.contains(folder_)) return Report(1, "folder " + folder_ + " is not in the list of layers");
    CheckTables(file.text);
    own_first_ = false;
    bool first = true;
    for (const Directive& directive : Directives(file.text)) {
      line_ = directive.line;
      if (directive.name == "include") {
        CheckInclude(directive.rest, first);
        first = false;
      } else if (directive.name.starts_with("if") && !kSystemFolders.contains(folder_)) {
        Report(line_, "#" + directive.name + " is only for lib/io and lib/plugin");
      }
    }
  }

  std::vector<std::string> Take() { return std::move(problems_); }

 private:
  void Report(size_t line, const std::string& message) {
    problems_.push_back(path_ + ":" + std::to_string(line) + ": " + message);
  }

  // Whoever chooses the text would choose how long a table takes: see base/text_hash.h.
  void CheckTables(const std::string& text) {
    if (path_ == kTextTables) return;
    std::istringstream in(text);
    std::string line;
    for (size_t number = 1; std::getline(in, line); ++number) {
      for (const char* const table : {"unordered_map<std::string", "unordered_set<std::string"}) {
        if (line.find(table) != std::string::npos)
          Report(number, "a hash table of text has to be one of " + std::string(kTextTables));
      }
    }
  }

  void CheckInclude(const std::string& rest, bool first) {
    if (rest.size() < 3) return Report(line_, "#include of nothing");
    const size_t end = rest.find(rest[0] == '<' ? '>' : '"', 1);
    if (end == std::string::npos) return Report(line_, "#include without its closing mark");
    const std::string name = rest.substr(1, end - 1);
    if (rest[0] == '<') return CheckAngled(name);
    const std::optional<std::string> target = Resolve(name);
    if (!target) return Report(line_, "\"" + name + "\" is no file of include/, lib/ or cmd/");
    CheckQuoted(*target, first);
  }

  std::optional<std::string> Resolve(const std::string& name) const {
    const std::string beside = path_.substr(0, path_.rfind('/') + 1) + name;
    for (const std::string& candidate : {beside, "include/" + name, "lib/" + name, name}) {
      if (paths_.contains(candidate)) return candidate;
    }
    return std::nullopt;
  }

  void CheckQuoted(const std::string& target, bool first) {
    const std::string folder = FolderOf(target);
    const Names allowed = Closure(folder_);
    if (!allowed.contains(folder)) {
      Report(line_, folder_ + " may not include " + target + " (it may include " + Join(allowed) + ")");
    }
    if (!IsOwnHeader(target)) return;
    // A public header and an internal one may both be the file's own; one of them is first.
    if (first) own_first_ = true;
    if (!own_first_) Report(line_, "the file's own header " + target + " does not come first");
  }

  bool IsOwnHeader(const std::string& target) const {
    if (!path_.ends_with(".cc") || !target.ends_with(".h")) return false;
    const std::string stem = path_.substr(path_.rfind('/') + 1, path_.size() - path_.rfind('/') - 4);
    return target == path_.substr(0, path_.size() - 3) + ".h" || target == "include/dcpctl/" + stem + ".h";
  }

  void CheckAngled(const std::string& name) {
    for (const auto& [prefix, folders] : kForeign) {
      if (name.starts_with(prefix)) return Require(name, folders);
    }
    if (name.find_first_of("./") != std::string::npos) return Require(name, kSystemFolders);
    for (const auto& [header, folders] : kImpure) {
      if (name == header) return Require(name, folders);
    }
    if (kPure.contains(folder_) && kNotInPure.contains(name)) {
      Report(line_, folder_ + " may not include <" + name + ">: it is pure");
    }
  }

  void Require(const std::string& name, const Names& allowed) {
    if (allowed.contains(folder_) || allowed.contains(path_)) return;
    Report(line_, folder_ + " may not include <" + name + "> (only " + Join(allowed) + " may)");
  }

  Names paths_;
  std::vector<std::string> problems_;
  std::string path_;
  std::string folder_;
  size_t line_ = 0;
  bool own_first_ = false;
};

}  // namespace

std::vector<std::string> CheckLayers(const std::vector<SourceFile>& files) {
  Checker checker(files);
  for (const SourceFile& file : files) checker.Check(file);
  return checker.Take();
}

}  // namespace dcpctl::layers
