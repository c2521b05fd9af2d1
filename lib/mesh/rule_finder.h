// Which rule decides each key.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dcpctl/mesh.h"

namespace dcpctl::mesh {

// The first rule that matches decides; their number stands for the fallback. Borrows both arguments.
class RuleFinder {
 public:
  RuleFinder(const std::vector<PlacementRule>& rules, const KeyMatcher& matches)
      : rules_(rules), matches_(matches), matched_(rules.size(), false) {}

  size_t Find(std::string_view key);
  // kNotFound for a rule that matched none of the keys it was asked about, those that earlier rules took included.
  Result<void> CheckAllMatched(std::span<const LayoutEntry> entries) const;

 private:
  const std::vector<PlacementRule>& rules_;
  const KeyMatcher& matches_;
  std::vector<bool> matched_;
};

}  // namespace dcpctl::mesh
