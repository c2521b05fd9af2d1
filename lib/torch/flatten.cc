#include "torch/flatten.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "pickle/arena.h"
#include "torch/key_text.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

using pickle::Kind;
using pickle::Value;

// Every leaf has the names of all that it is in, and containers may be shared: a pickle of a few hundred bytes could
// ask for more entries than fit into any memory. What they take is bounded by what the pickle's values take; states
// that people save need about twice that.
constexpr uint64_t kLeastRoom = uint64_t{16} << 20;
constexpr uint64_t kRoomPerByte = 32;

struct Item {
  KeyText key;
  Value value;
};

// Items of a mapping. A key that is set again keeps its place and gets the new value, as in Python.
class Items {
 public:
  void Set(Value key, Value value) {
    KeyText text = TextOfKey(key);
    // Unequal objects may have the same text: 0.1 of NumPy's two float types.
    const std::string same = key.Is(Kind::kObject) ? pickle::Print(key) : text.text;
    const auto [at, added] = places_.try_emplace(std::to_string(static_cast<int>(key.kind())) + same, items_.size());
    if (added) {
      items_.push_back({std::move(text), value});
    } else {
      items_[at->second].value = value;
    }
  }

  // Pairs of a dict, or of the list of pairs that Python 2 calls OrderedDict with.
  void SetAll(Value pairs) {
    if (pairs.Is(Kind::kDict)) {
      for (size_t i = 0; i < pairs.size(); ++i) Set(pairs.key(i), pairs.value(i));
    } else if (pairs.Is(Kind::kList)) {
      for (size_t i = 0; i < pairs.size(); ++i) {
        const Value pair = pairs[i];
        const bool is_pair = (pair.Is(Kind::kList) || pair.Is(Kind::kTuple)) && pair.size() == 2;
        if (is_pair) Set(pair[0], pair[1]);
      }
    }
  }

  std::vector<Item> Take() && { return std::move(items_); }

 private:
  std::vector<Item> items_;
  std::unordered_map<std::string, size_t> places_;
};

std::vector<Item> ItemsOf(Value mapping) {
  Items items;
  if (mapping.Is(Kind::kDict)) {
    items.SetAll(mapping);
    return std::move(items).Take();
  }
  if (mapping.args().Is(Kind::kTuple)) {  // Counter({..}), OrderedDict([..])
    for (size_t i = 0; i < mapping.args().size(); ++i) items.SetAll(mapping.args()[i]);
  }
  for (size_t i = 0; i < mapping.operation_count(); ++i) {
    const pickle::Operation operation = mapping.operation(i);
    if (operation.kind == pickle::OperationKind::kSetItem) items.Set(operation.first, *operation.second);
  }
  return std::move(items).Take();
}

class Flattener {
 public:
  Flattener(std::string_view file, const Limits& limits, Flattening rules, EmptyMappings empty)
      : file_(file), limits_(limits), rules_(rules), empty_(empty) {}

  Result<std::vector<Leaf>> Run(Value root) {
    room_ = kLeastRoom + kRoomPerByte * pickle::ValueAccess::DocumentOf(root).memory_bytes();
    if (rules_ != Flattening::kWhole && IsMapping(root)) {
      DCPCTL_TRY(VisitMapping(root, ""));
    } else {
      leaves_.push_back({.path = {}, .key = {}, .value = root});
    }
    return std::move(leaves_);
  }

  // Whether it is taken apart.
  bool IsOpen(Value value) {
    switch (rules_) {
      case Flattening::kWhole:
      case Flattening::kNone: return false;
      case Flattening::kWithTensors: return HasTensor(value, 0);
      case Flattening::kAlways: return IsMapping(value) || IsOpenList(value, 0);
    }
    return false;
  }

 private:
  tl::unexpected<Error> TooMuch(std::string message) const {
    return Fail(Place{std::string(file_)}, ErrorKind::kLimit, std::move(message));
  }

  Result<void> Take(uint64_t bytes) {
    if (bytes > room_) {
      return TooMuch("state has " + std::to_string(visited_) +
                     " entries or more, expected fewer in a pickle of its size: they share what they hold");
    }
    room_ -= bytes;
    return {};
  }

  Result<void> Visit(Value value, const std::string& key) {
    // Counts containers too: shared ones nested in each other have many paths and perhaps no leaf.
    if (++visited_ > limits_.entries) {
      return TooMuch("state has more than " + std::to_string(limits_.entries) + " entries, expected at most that");
    }
    if (path_.size() > limits_.pickle_depth) {
      return TooMuch("state is nested more than " + std::to_string(limits_.pickle_depth) +
                     " levels deep or contains itself, expected fewer levels (at " + Quote(key, 60) + ")");
    }
    if (key.size() > limits_.name_bytes) {
      return TooMuch("key " + Quote(key, 60) + " has " + std::to_string(key.size()) + " bytes, expected at most " +
                     std::to_string(limits_.name_bytes));
    }
    DCPCTL_TRY(Take(sizeof(Leaf)));
    if (IsOpen(value)) {
      if (!IsMapping(value)) return VisitList(value, key);
      const size_t before = leaves_.size();
      const uint64_t visited = visited_;
      DCPCTL_TRY(VisitMapping(value, key));
      const bool is_empty = leaves_.size() == before && visited_ == visited;
      if (!is_empty || empty_ == EmptyMappings::kDrop) return {};
    }
    DCPCTL_TRY(Take(2 * key.size() + path_.size() * sizeof(PathElement)));
    leaves_.push_back({.path = path_, .key = key, .value = value, .key_is_certain = uncertain_ == 0});
    return {};
  }

  Result<void> VisitMapping(Value mapping, const std::string& key) {
    for (Item& item : ItemsOf(mapping)) {
      const std::string child = path_.empty() ? item.key.text : key + "." + item.key.text;
      path_.emplace_back(std::move(item.key.text));
      uncertain_ += item.key.is_certain ? 0 : 1;
      DCPCTL_TRY(Visit(item.value, child));
      uncertain_ -= item.key.is_certain ? 0 : 1;
      path_.pop_back();
    }
    return {};
  }

  Result<void> VisitList(Value list, const std::string& key) {
    for (size_t i = 0; i < list.size(); ++i) {
      path_.emplace_back(uint64_t{i});
      DCPCTL_TRY(Visit(list[i], key + "." + std::to_string(i)));
      path_.pop_back();
    }
    return {};
  }

  // Whether a tensor is somewhere in the mappings and lists of a container. Beyond the depth limit none is.
  bool HasTensor(Value value, uint32_t depth) {
    const bool mapping = IsMapping(value);
    if ((!mapping && !value.Is(Kind::kList)) || depth > limits_.pickle_depth) return false;
    const auto [at, added] = open_lists_.try_emplace(value.identity(), false);  // false while it is looked into
    if (!added) return at->second;
    std::vector<Value> items;
    if (mapping) {
      for (const Item& item : ItemsOf(value)) items.push_back(item.value);
    } else {
      for (size_t i = 0; i < value.size(); ++i) items.push_back(value[i]);
    }
    const bool found = std::any_of(items.begin(), items.end(),
                                   [&](Value item) { return LooksLikeTensor(item) || HasTensor(item, depth + 1); });
    return open_lists_[value.identity()] = found;
  }

  // Whether a list has a tensor, a mapping or such a list in it. One beyond the depth limit counts as closed.
  bool IsOpenList(Value value, uint32_t depth) {
    if (!value.Is(Kind::kList) || depth > limits_.pickle_depth) return false;
    const auto [at, added] = open_lists_.try_emplace(value.identity(), false);  // false while it is looked into
    if (!added) return at->second;
    for (size_t i = 0; i < value.size(); ++i) {
      const Value item = value[i];
      if (LooksLikeTensor(item) || IsMapping(item) || IsOpenList(item, depth + 1)) {
        return open_lists_[value.identity()] = true;
      }
    }
    return false;
  }

  std::string_view file_;
  const Limits& limits_;
  const Flattening rules_;
  const EmptyMappings empty_;
  KeyPath path_;
  uint32_t uncertain_ = 0;  // keys of the path whose text is not certain
  uint64_t visited_ = 0;
  uint64_t room_ = 0;                              // bytes that are left
  std::unordered_map<uint32_t, bool> open_lists_;  // containers that are taken apart, by identity
  std::vector<Leaf> leaves_;
};

}  // namespace

bool IsMapping(Value value) {
  if (value.Is(Kind::kDict)) return true;
  if (!value.Is(Kind::kObject)) return false;
  for (const char* name : {"OrderedDict", "defaultdict", "Counter"}) {
    if (value.callable().IsGlobal("collections", name)) return true;
  }
  for (size_t i = 0; i < value.operation_count(); ++i) {
    if (value.operation(i).kind == pickle::OperationKind::kSetItem) return true;
  }
  return false;
}

bool IsTakenApart(Value value, const Limits& limits) {
  if (IsMapping(value)) return !ItemsOf(value).empty();
  return Flattener({}, limits, Flattening::kAlways, EmptyMappings::kDrop).IsOpen(value);
}

Result<std::vector<Leaf>> Flatten(Value root, std::string_view file, const Limits& limits, Flattening rules,
                                  EmptyMappings empty) {
  return Flattener(file, limits, rules, empty).Run(root);
}

}  // namespace dcpctl::torch
