// --select and --exclude over the keys of more than one checkpoint: a pattern has to match something in one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/convert.h"
#include "dcpctl/error.h"

namespace dcpctl::ops {

class KeyFilter {
 public:
  // Only `select` and `exclude`, see MatchesKey.
  explicit KeyFilter(const Selection& selection);

  // Whether the key is selected.
  bool Wants(std::string_view key);
  // Whether any key could have been left out.
  [[nodiscard]] bool narrows() const { return !select_.empty() || !exclude_.empty(); }
  // kNotFound for a pattern that matched none of the keys asked for so far; `keys` are for suggestions.
  [[nodiscard]] Result<void> CheckUsed(const std::vector<std::string>& keys) const;

 private:
  struct Pattern {
    std::string text;
    bool used = false;
  };
  static bool AnyMatches(std::vector<Pattern>& patterns, std::string_view key);

  std::vector<Pattern> select_;
  std::vector<Pattern> exclude_;
};

}  // namespace dcpctl::ops
