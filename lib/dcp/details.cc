#include "dcp/details.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "dcp/instance.h"

namespace dcpctl::dcp {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr size_t kMostText = 1000;  // bytes; one that is longer is not followed by more

// The text of a path object: one argument, or one a component (before Python 3.13).
std::string PathText(Value path) {
  if (path.Is(Kind::kString)) return std::string(path.AsText());
  if (!path.Is(Kind::kObject) || !path.args().Is(Kind::kTuple)) return {};
  std::string text;
  for (size_t i = 0; i < path.args().size() && text.size() <= kMostText; ++i) {
    if (!path.args()[i].Is(Kind::kString)) return {};
    if (!text.empty() && !text.ends_with('/')) text += '/';
    text += path.args()[i].AsText();
  }
  return text;
}

// PyTorch does not say which version wrote a checkpoint; what it writes tells the oldest that may have.
// Attributes that any writer may leave out prove nothing by being absent.
std::string WrittenBy(Value root) {
  if (root.callable().Is(Kind::kGlobal) && root.callable().module().find("_shard.checkpoint") != std::string_view::npos)
    return "torch 1.13";
  const auto entries = Attribute(root, "state_dict_metadata");
  for (size_t i = 0; entries && entries->Is(Kind::kDict) && i < entries->size(); ++i) {
    const auto properties = Attribute(entries->value(i), "properties");
    const auto state = properties && properties->Is(Kind::kObject) ? properties->state() : std::nullopt;
    if (!state || !state->Is(Kind::kTuple)) continue;
    if (state->size() > 5) return "torch >= 2.15";
    break;  // the others are alike
  }
  if (Attribute(root, "version")) return "torch >= 2.9";
  const auto storage = Attribute(root, "storage_meta");
  if (!storage) return {};
  return Attribute(*storage, "modules") ? "torch >= 2.7" : "torch >= 2.4";
}

std::string OtherAttributes(Value root) {
  static constexpr std::array<std::string_view, 5> kKnown = {"state_dict_metadata", "planner_data", "storage_data",
                                                             "storage_meta", "version"};
  const Value state = *root.state();
  std::string others;
  for (size_t i = 0; i < state.size() && others.size() <= kMostText; ++i) {
    const Value key = state.key(i);
    if (!key.Is(Kind::kString) || std::find(kKnown.begin(), kKnown.end(), key.AsText()) != kKnown.end()) continue;
    others += (others.empty() ? "" : ", ") + std::string(key.AsText());
  }
  return others;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ReadDetails(Value root) {
  std::vector<std::pair<std::string, std::string>> details;
  const auto add = [&](std::string name, std::string text) {
    if (!text.empty()) details.emplace_back(std::move(name), std::move(text));
  };
  add("written_by", WrittenBy(root));
  if (const auto version = Attribute(root, "version")) {
    add("version", std::string(version->Is(Kind::kString) ? version->AsText()
                                                          : pickle::Print(*version, {.max_bytes = kMostText})));
  }
  if (const auto storage = Attribute(root, "storage_meta")) {
    const auto id = Attribute(*storage, "save_id");
    if (id && id->Is(Kind::kString)) add("save_id", std::string(id->AsText()));
    if (const auto path = Attribute(*storage, "checkpoint_id")) add("checkpoint_id", PathText(*path));
  }
  add("other_attributes", OtherAttributes(root));
  return details;
}

}  // namespace dcpctl::dcp
