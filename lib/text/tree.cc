#include "text/tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "text/display.h"

namespace dcpctl::text {
namespace {

constexpr size_t kRoot = 0;

struct Node {
  std::string_view label;
  std::optional<size_t> item;
  std::vector<size_t> children;
};

class Tree {
 public:
  explicit Tree(const TreeOptions& options)
      : separator_(options.separator), max_depth_(std::max<size_t>(options.max_depth, 1)) {}

  void Add(std::string_view name, size_t item) {
    size_t node = kRoot;
    for (size_t depth = 1; depth < max_depth_; ++depth) {
      const size_t end = name.find(separator_);
      if (end == std::string_view::npos) break;
      node = Child(node, name.substr(0, end));
      name.remove_prefix(end + 1);
    }
    const size_t leaf = Child(node, name);
    if (!nodes_[leaf].item) {
      nodes_[leaf].item = item;
    } else {
      nodes_[Append(node, name)].item = item;
    }
  }

  std::vector<TreeLine> Lines() && {
    Print(kRoot, "");
    return std::move(lines_);
  }

 private:
  size_t Child(size_t parent, std::string_view label) {
    const auto found = by_label_.find({parent, label});
    if (found != by_label_.end()) return found->second;
    const size_t node = Append(parent, label);
    by_label_.emplace(std::pair{parent, label}, node);
    return node;
  }

  size_t Append(size_t parent, std::string_view label) {
    nodes_.push_back({.label = label, .item = {}, .children = {}});
    nodes_[parent].children.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  // Recursion is bounded by max_depth.
  void Print(size_t parent, const std::string& prefix) {
    for (const size_t child : nodes_[parent].children) {
      const bool last = child == nodes_[parent].children.back();
      const Node& node = nodes_[child];
      const std::string label = node.label.empty() ? "\"\"" : Printable(node.label);
      lines_.push_back({.text = prefix + (last ? "└── " : "├── ") + label, .item = node.item});
      Print(child, prefix + (last ? "    " : "│   "));
    }
  }

  char separator_;
  size_t max_depth_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::map<std::pair<size_t, std::string_view>, size_t> by_label_;
  std::vector<TreeLine> lines_;
};

}  // namespace

std::vector<TreeLine> TreeLines(std::span<const std::string> names, const TreeOptions& options) {
  Tree tree(options);
  for (size_t i = 0; i < names.size(); ++i) tree.Add(names[i], i);
  return std::move(tree).Lines();
}

}  // namespace dcpctl::text
