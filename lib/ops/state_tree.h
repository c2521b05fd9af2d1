// The nested state dict that flat entries with paths came from, rebuilt by position and name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/pool.h"
#include "base/text_hash.h"
#include "dcpctl/catalog.h"
#include "dcpctl/pickle.h"

namespace dcpctl::ops {

struct StateTreeOptions {
  bool int_keys = false;  // keys of a dict named "state", if all are decimal integers, become ints
};

class StateTree {
 public:
  // `label` names the entry in messages, and lives as long as the tree. kMismatch, naming both entries, when a place is
  // taken.
  Result<void> Add(const KeyPath& path, EntryRef entry, std::string_view label);
  // An entry that the checkpoint has and the output does not: its position in a list is kept.
  void AddRemoved(const KeyPath& path);

  // A position of a list that never had an entry was an empty dict when it was saved (that is the one value
  // that flattening drops) and becomes one again; one whose entry was removed becomes None.
  Result<pickle::Value> Build(pickle::Document& document, const StateTreeOptions& options,
                              const std::function<Result<pickle::Value>(EntryRef)>& leaf);
  // After Build: how many positions became None.
  [[nodiscard]] uint64_t removed_positions() const { return removed_positions_; }

 private:
  struct Contents;
  // There may be millions, most of them leaves of one dict. Pointers to one are good until a sibling is added.
  struct Node {
    enum class Kind : uint8_t { kLeaf, kDict, kList, kRemoved } kind = Kind::kDict;
    EntryRef entry;
    std::string_view label;              // of the entry, or of the first one below
    std::unique_ptr<Contents> contents;  // of a dict or list, once it has some
  };
  struct Contents {
    std::vector<std::string_view> keys;  // of a dict, in order of arrival; in texts_
    std::vector<Node> values;
    TextViewMap<uint32_t> index;              // of keys
    std::vector<std::unique_ptr<Node>> list;  // by position; null is a gap
  };

  static Node* Child(Node& parent, const PathElement& element);
  Node& AddChild(Contents& parent, std::string_view key);
  Result<Node*> ChildOrNew(Node& parent, const PathElement& element, Node::Kind kind, std::string_view label);
  Result<pickle::Value> BuildNode(const Node& node, bool is_state, uint32_t depth, pickle::Document& document);
  Result<pickle::Value> BuildDict(const Node& node, bool is_state, uint32_t depth, pickle::Document& document);
  Result<pickle::Value> BuildList(const Node& node, uint32_t depth, pickle::Document& document);

  Pool<char> texts_;
  Node root_;
  StateTreeOptions options_;
  const std::function<Result<pickle::Value>(EntryRef)>* leaf_ = nullptr;
  uint64_t removed_positions_ = 0;
  uint64_t positions_ = 0;  // of all lists, gaps included
  uint64_t gaps_ = 0;       // seen by Build
};

}  // namespace dcpctl::ops
