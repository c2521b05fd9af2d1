#include "dcp/naming.h"

#include <charconv>

namespace dcpctl::dcp {
namespace {

// Takes a decimal number off the front of `text`.
std::optional<uint64_t> TakeNumber(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<DataFileName> ParseDataFileName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!Take(name, "__")) return std::nullopt;
  const auto rank = TakeNumber(name);
  if (!rank || !Take(name, "_")) return std::nullopt;
  const auto bucket = TakeNumber(name);
  if (!bucket || name != kDataSuffix) return std::nullopt;
  return DataFileName{.rank = *rank, .bucket = *bucket};
}

std::optional<uint64_t> ParseRankMetadataName(std::string_view name) {
  if (!Take(name, "__")) return std::nullopt;
  const auto rank = TakeNumber(name);
  if (!rank || name != kMetadataName) return std::nullopt;
  return rank;
}

}  // namespace dcpctl::dcp
