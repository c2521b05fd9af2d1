#include "ops/state_tree.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcpctl/limits.h"

namespace dcpctl::ops {
namespace {

// A position of a list is a claim of the metadata, and gaps would be filled up to it. No state dict has lists with
// this many elements, or this many empty dicts in them.
constexpr uint64_t kMaxPositions = 10'000'000;
constexpr uint64_t kMaxGaps = 1'000'000;

std::optional<int64_t> AsDecimal(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::to_string(number) == text ? std::optional(number) : std::nullopt;  // not "01" or "+1"
}

}  // namespace

StateTree::Node* StateTree::Child(Node& parent, const PathElement& element) {
  if (!parent.contents) return nullptr;
  Contents& contents = *parent.contents;
  if (const auto* key = std::get_if<std::string>(&element)) {
    const auto found = contents.index.find(*key);
    return found == contents.index.end() ? nullptr : &contents.values[found->second];
  }
  const uint64_t position = std::get<uint64_t>(element);
  return position < contents.list.size() ? contents.list[position].get() : nullptr;
}

StateTree::Node& StateTree::AddChild(Contents& parent, std::string_view key) {
  char* const copy = texts_.Add(key.size());
  std::copy(key.begin(), key.end(), copy);
  parent.keys.emplace_back(copy, key.size());
  parent.index.emplace(parent.keys.back(), static_cast<uint32_t>(parent.values.size()));
  return parent.values.emplace_back();
}

Result<StateTree::Node*> StateTree::ChildOrNew(Node& parent, const PathElement& element, Node::Kind kind,
                                               std::string_view label) {
  const bool is_position = std::holds_alternative<uint64_t>(element);
  if (is_position && &parent == &root_) {
    return Fail(ErrorKind::kMismatch,
                "the path of entry " + Quote(label) + " begins with a list position, expected a name");
  }
  if (parent.kind != (is_position ? Node::Kind::kList : Node::Kind::kDict)) {
    return Fail(ErrorKind::kMismatch, "entries " + Quote(parent.label) + " and " + Quote(label) +
                                          " want the same place in the result, expected one each");
  }
  if (Node* child = Child(parent, element)) return child;
  if (!parent.contents) parent.contents = std::make_unique<Contents>();
  Node* child = nullptr;
  if (is_position) {
    std::vector<std::unique_ptr<Node>>& list = parent.contents->list;
    const uint64_t position = std::get<uint64_t>(element);
    const uint64_t added = position < list.size() ? 0 : position - list.size() + 1;
    if (position >= kMaxPositions || added > kMaxPositions - positions_) {
      return Fail(ErrorKind::kLimit, "list position " + std::to_string(position) + " of " + Quote(label) +
                                         " is too far, expected at most " + std::to_string(kMaxPositions) + " in all");
    }
    positions_ += added;
    if (added > 0) list.resize(position + 1);
    list[position] = std::make_unique<Node>();
    child = list[position].get();
  } else {
    child = &AddChild(*parent.contents, std::get<std::string>(element));
  }
  child->kind = kind;
  child->label = label;
  return child;
}

Result<void> StateTree::Add(const KeyPath& path, EntryRef entry, std::string_view label) {
  Node* node = &root_;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool last = i + 1 == path.size();
    const auto kind = last                                            ? Node::Kind::kLeaf
                      : std::holds_alternative<uint64_t>(path[i + 1]) ? Node::Kind::kList
                                                                      : Node::Kind::kDict;
    const Node* before = Child(*node, path[i]);
    if (before != nullptr && (last || before->kind == Node::Kind::kLeaf)) {
      return Fail(ErrorKind::kMismatch, "entries " + Quote(before->label) + " and " + Quote(label) +
                                            " want the same place in the result, expected one each");
    }
    DCPCTL_ASSIGN(node, ChildOrNew(*node, path[i], kind, label));
  }
  node->entry = entry;
  return {};
}

void StateTree::AddRemoved(const KeyPath& path) {
  Node* node = &root_;
  for (const PathElement& element : path) {
    Node* child = Child(*node, element);
    if (child == nullptr) {
      if (node->kind != Node::Kind::kList || !std::holds_alternative<uint64_t>(element)) return;
      auto made = ChildOrNew(*node, element, Node::Kind::kRemoved, {});
      return;
    }
    node = child;
  }
}

Result<pickle::Value> StateTree::Build(pickle::Document& document, const StateTreeOptions& options,
                                       const std::function<Result<pickle::Value>(EntryRef)>& leaf) {
  options_ = options;
  leaf_ = &leaf;
  removed_positions_ = 0;
  gaps_ = 0;
  return BuildNode(root_, false, 0, document);
}

Result<pickle::Value> StateTree::BuildNode(const Node& node, bool is_state, uint32_t depth,
                                           pickle::Document& document) {
  if (depth > Limits{}.pickle_depth)
    return Fail(ErrorKind::kLimit,
                "entry " + Quote(node.label) + " is nested deeper than " + std::to_string(Limits{}.pickle_depth));
  switch (node.kind) {
    case Node::Kind::kLeaf: return (*leaf_)(node.entry);
    case Node::Kind::kDict: return BuildDict(node, is_state, depth, document);
    case Node::Kind::kList: return BuildList(node, depth, document);
    case Node::Kind::kRemoved: break;
  }
  ++removed_positions_;
  return document.None();
}

Result<pickle::Value> StateTree::BuildDict(const Node& node, bool is_state, uint32_t depth,
                                           pickle::Document& document) {
  const pickle::Value made = document.Dict();
  if (!node.contents) return made;
  const Contents& dict = *node.contents;
  const bool as_int =
      options_.int_keys && is_state &&
      std::all_of(dict.keys.begin(), dict.keys.end(), [](const auto& key) { return AsDecimal(key).has_value(); });
  for (size_t i = 0; i < dict.keys.size(); ++i) {
    const std::string_view key = dict.keys[i];
    DCPCTL_ASSIGN(const pickle::Value value, BuildNode(dict.values[i], key == "state", depth + 1, document));
    document.SetItem(made, as_int ? document.Int(*AsDecimal(key)) : document.String(key), value);
  }
  return made;
}

Result<pickle::Value> StateTree::BuildList(const Node& node, uint32_t depth, pickle::Document& document) {
  const pickle::Value list = document.List();
  for (const auto& child : node.contents->list) {
    if (!child) {
      if (++gaps_ > kMaxGaps) {
        return Fail(ErrorKind::kLimit, "the list of entry " + Quote(node.label) +
                                           " has positions without entries, expected at most " +
                                           std::to_string(kMaxGaps) + " of them in all");
      }
      document.Append(list, document.Dict());
      continue;
    }
    DCPCTL_ASSIGN(const pickle::Value value, BuildNode(*child, false, depth + 1, document));
    document.Append(list, value);
  }
  return list;
}

}  // namespace dcpctl::ops
