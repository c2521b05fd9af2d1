#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dcpctl {
namespace {

// Keys of a checkpoint may be long and many; a slip is found within this much of them.
constexpr size_t kMaxCompared = 256;

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> candidates, size_t most) {
  name = name.substr(0, kMaxCompared);
  const size_t close_enough = std::max<size_t>(2, name.size() / 3);
  std::vector<std::pair<size_t, const std::string*>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string_view cut = std::string_view(candidate).substr(0, kMaxCompared);
    const size_t gap = cut.size() > name.size() ? cut.size() - name.size() : name.size() - cut.size();
    const bool contains = !name.empty() && cut.find(name) != std::string_view::npos;
    if (gap > close_enough && !contains) continue;
    const size_t distance = contains ? gap : EditDistance(name, cut);
    if (contains || distance <= close_enough) ranked.emplace_back(distance, &candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (size_t i = 0; i < ranked.size() && i < most; ++i) nearest.push_back(*ranked[i].second);
  return nearest;
}

}  // namespace dcpctl
