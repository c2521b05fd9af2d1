// The tree view: containers by the paths that the checkpoint records, never by dots in keys.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/checked.h"
#include "report/inspect_text.h"
#include "report/measure.h"
#include "text/display.h"
#include "text/numbers.h"
#include "text/table.h"

namespace dcpctl::report {
namespace {

// Deeper paths stay joined in the last label: a metadata file may claim any depth.
constexpr size_t kMaxTreeDepth = 64;

struct Node {
  std::string label;
  std::vector<Node> children;
  std::map<PathElement, size_t> index;  // into children
  const Tensor* tensor = nullptr;
  const Object* object = nullptr;
  uint64_t tensors = 0;
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

std::string LabelOf(const PathElement& element) {
  const auto* name = std::get_if<std::string>(&element);
  if (!name) return "[" + std::to_string(std::get<uint64_t>(element)) + "]";
  return name->empty() ? "\"\"" : text::Printable(*name);
}

Node& ChildOf(Node& node, const PathElement& element) {
  const auto [at, added] = node.index.try_emplace(element, node.children.size());
  if (added) node.children.emplace_back().label = LabelOf(element);
  return node.children[at->second];
}

void Count(Node& node, const Tensor* tensor) {
  node.tensors += tensor ? 1 : 0;
  node.objects += tensor ? 0 : 1;
  if (tensor) node.bytes = CheckedAdd(node.bytes, BytesOf(*tensor)).value_or(UINT64_MAX);
}

void Insert(Node& root, const KeyPath& path, const Tensor* tensor, const Object* object) {
  Node* node = &root;
  Count(*node, tensor);
  const size_t depth = std::min(path.size(), kMaxTreeDepth);
  for (size_t i = 0; i < depth; ++i) {
    const bool cut = i + 1 == depth && depth < path.size();
    node =
        &ChildOf(*node, cut ? JoinPath(KeyPath(path.begin() + static_cast<std::ptrdiff_t>(i), path.end())) : path[i]);
    Count(*node, tensor);
  }
  node->tensor = tensor;
  node->object = object;
}

std::string Describe(const Node& node) {
  if (node.tensor) return std::string(Name(node.tensor->dtype)) + " " + ToString(DimsView(node.tensor->shape));
  if (node.object) return "object";
  std::string text = node.tensors > 0 ? Plural(node.tensors, "tensor") : "";
  if (node.objects > 0) text += (text.empty() ? "" : ", ") + Plural(node.objects, "object");
  return text;
}

void AddRows(const Node& node, const std::string& lead, text::RowSink& row) {
  for (size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[i];
    const bool last = i + 1 == node.children.size();
    row.Cell(lead + (last ? "└── " : "├── ") + child.label);
    row.Cell(child.object ? "" : text::FormatBytes(child.bytes)).Cell(Describe(child)).End();
    AddRows(child, lead + (last ? "    " : "│   "), row);
  }
}

}  // namespace

void WriteTree(std::ostream& out, const InspectReport& report, const TextStyle& style) {
  const Catalog& catalog = report.catalog;
  Node root;
  root.label = ".";
  for (const EntryRef entry : catalog.entries) {
    if (entry.is_tensor) {
      Insert(root, catalog.KeyPathOf(entry), &catalog.tensors[entry.index], nullptr);
    } else {
      Insert(root, catalog.KeyPathOf(entry), nullptr, &catalog.objects[entry.index]);
    }
  }
  const auto rows = [&root](text::RowSink& row) {
    row.Cell(root.label).Cell(text::FormatBytes(root.bytes)).Cell(Describe(root)).End();
    AddRows(root, "", row);
  };
  out << RenderTotals(report, style) << "\n";
  text::WriteTable(out, {{"", text::Align::kLeft, true}, {"", text::Align::kRight}, {""}}, rows,
                   {.width = style.width, .header = false, .indent = 0, .style = {}});
}

}  // namespace dcpctl::report
