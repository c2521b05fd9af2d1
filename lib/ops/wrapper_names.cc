#include "ops/wrapper_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"

namespace dcpctl::ops {
namespace {

// torch.compile, activation checkpointing, FSDP1.
constexpr std::array<std::string_view, 3> kWrappers = {"_orig_mod", "_checkpoint_wrapped_module",
                                                       "_fsdp_wrapped_module"};
constexpr std::string_view kModule = "module";  // DataParallel and its kin
constexpr size_t kMostWrappersNamed = 5;        // outermost names: a checkpoint may have any number

std::string_view TakeComponent(std::string_view& key) {
  const size_t dot = key.find('.');
  const std::string_view component = key.substr(0, dot);
  key.remove_prefix(dot == std::string_view::npos ? key.size() : dot + 1);
  return component;
}

struct Below {
  uint64_t keys = 0;
  uint64_t in_module = 0;  // keys whose next component is `module`, with something below it
};

class WrapperNames {
 public:
  void Add(std::string_view key) {
    for (size_t i = 0; i < kWrappers.size(); ++i) counts_[i] += Has(key, kWrappers[i]) ? 1 : 0;
    std::string_view rest = key;
    const std::string_view outermost = TakeComponent(rest);
    Count(all_, key);
    if (rest.empty()) return;
    auto found = below_.find(outermost);
    if (found == below_.end()) found = below_.emplace(outermost, Below{}).first;
    Count(found->second, rest);
  }

  [[nodiscard]] std::optional<Finding> Note() const {
    std::string names;
    std::string options;
    const auto add = [&](const std::string& name, uint64_t count, const std::string& option) {
      names += (names.empty() ? "" : ", ") + name + " in " + std::to_string(count) + (count == 1 ? " key" : " keys");
      options += " " + option;
    };
    for (size_t i = 0; i < kWrappers.size(); ++i) {
      const std::string name(kWrappers[i]);
      if (counts_[i] > 0) add(name, counts_[i], "--rename " + name + "=");
    }
    if (IsWrapped(all_)) {
      add("module in front", all_.keys, "--strip-prefix module");
    } else {
      size_t named = 0;
      for (const auto& [name, below] : below_) {
        if (IsWrapped(below) && named++ < kMostWrappersNamed)
          add(Escape(name) + ".module", below.keys, "--rename '^" + Escape(name) + ".module=" + Escape(name) + "'");
      }
    }
    if (names.empty()) return std::nullopt;
    return Finding{.id = "keys.wrapper-names",
                   .severity = Severity::kNote,
                   .message = "keys hold names of wrappers: " + names,
                   .advice = "conversions take them out with" + options};
  }

 private:
  static bool Has(std::string_view key, std::string_view name) {
    for (size_t at = key.find(name); at != std::string_view::npos; at = key.find(name, at + 1)) {
      const size_t end = at + name.size();
      if ((at == 0 || key[at - 1] == '.') && (end == key.size() || key[end] == '.')) return true;
    }
    return false;
  }

  static void Count(Below& below, std::string_view key) {
    ++below.keys;
    below.in_module += TakeComponent(key) == kModule && !key.empty() ? 1 : 0;
  }

  static bool IsWrapped(const Below& below) { return below.keys > 0 && below.keys == below.in_module; }

  std::array<uint64_t, kWrappers.size()> counts_{};
  Below all_;
  std::map<std::string, Below, std::less<>> below_;  // by outermost name
};

}  // namespace

std::optional<Finding> NoteWrapperNames(const Catalog& catalog) {
  WrapperNames names;
  for (const EntryRef entry : catalog.entries) names.Add(catalog.KeyOf(entry));
  return names.Note();
}

}  // namespace dcpctl::ops
