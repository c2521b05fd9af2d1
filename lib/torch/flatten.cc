#include "torch/flatten.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "pickle/arena.h"
#include "pickle/room.h"
#include "torch/key_text.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

using pickle::Kind;
using pickle::Value;

struct Item {
  KeyText key;
  Value value;
};

// Every leaf has the names of all that it is in. A dict of numbers to numbers takes the most that is not shared: eight
// bytes an item, which become some 140.
constexpr uint64_t kRoomPerByte = 128;
// To look at an item; keys that are not short cost what it takes to print them.
constexpr uint64_t kItemCost = 8;
constexpr uint64_t kCostOfText = 16;
constexpr size_t kUsualKey = 64;

bool IsPair(Value value) { return (value.Is(Kind::kList) || value.Is(Kind::kTuple)) && value.size() == 2; }

// Items of a mapping. A key that is set again keeps its place and gets the new value, as in Python. Not all when the
// room is full.
class Items {
 public:
  Items(pickle::Room& room, const Limits& limits)
      : room_(room), max_key_bytes_(static_cast<size_t>(limits.name_bytes)) {}

  void Set(Value key, Value value) {
    if (room_.is_full()) return;
    KeyText text = TextOfKey(key, max_key_bytes_);
    // Objects: 0.1 of NumPy's two float types has one text.
    const std::string same = key.Is(Kind::kObject) ? std::exchange(text.printed, {}) : text.text;
    if (!room_.Take(kItemCost + (same.size() > kUsualKey ? kCostOfText * same.size() : 0))) return;
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
      for (size_t i = 0; i < pairs.size() && !room_.is_full(); ++i) Set(pairs.key(i), pairs.value(i));
    } else if (pairs.Is(Kind::kList)) {
      for (size_t i = 0; i < pairs.size() && room_.Take(1); ++i) {
        const Value pair = pairs[i];
        if (IsPair(pair)) Set(pair[0], pair[1]);
      }
    }
  }

  std::vector<Item> Take() && { return std::move(items_); }

 private:
  pickle::Room& room_;
  const size_t max_key_bytes_;
  std::vector<Item> items_;
  TextMap<size_t> places_;
};

std::vector<Item> ItemsOf(Value mapping, pickle::Room& room, const Limits& limits) {
  Items items(room, limits);
  if (mapping.Is(Kind::kDict)) {
    items.SetAll(mapping);
    return std::move(items).Take();
  }
  if (mapping.args().Is(Kind::kTuple)) {  // Counter({..}), OrderedDict([..])
    for (size_t i = 0; i < mapping.args().size() && room.Take(1); ++i) items.SetAll(mapping.args()[i]);
  }
  for (size_t i = 0; i < mapping.operation_count() && room.Take(1); ++i) {
    const pickle::Operation operation = mapping.operation(i);
    if (operation.kind == pickle::OperationKind::kSetItem) items.Set(operation.first, *operation.second);
  }
  return std::move(items).Take();
}

// Whether ItemsOf() has any.
bool HasItems(Value mapping) {
  if (mapping.Is(Kind::kDict)) return mapping.size() > 0;
  if (mapping.has_set_item()) return true;
  const Value args = mapping.args();
  for (size_t i = 0; args.Is(Kind::kTuple) && i < args.size(); ++i) {
    if (args[i].Is(Kind::kDict) && args[i].size() > 0) return true;
    for (size_t k = 0; args[i].Is(Kind::kList) && k < args[i].size(); ++k) {
      if (IsPair(args[i][k])) return true;
    }
  }
  return false;
}

class Flattener {
 public:
  Flattener(Value root, std::string_view file, const Limits& limits, Flattening rules, EmptyMappings empty)
      : file_(file),
        limits_(limits),
        rules_(rules),
        empty_(empty),
        room_(pickle::ValueAccess::DocumentOf(root).content_bytes(), kRoomPerByte) {}

  Result<std::vector<Leaf>> Run(Value root) {
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
    if (room_.Take(bytes)) return {};
    return TooMuch("state has " + std::to_string(visited_) +
                   " entries or more, expected fewer or shorter ones in a pickle of its size: they share what they "
                   "hold");
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
    DCPCTL_TRY(Take(sizeof(Leaf) + key.size()));
    if (IsOpen(value)) {
      if (!IsMapping(value)) return VisitList(value, key);
      const size_t before = leaves_.size();
      const uint64_t visited = visited_;
      DCPCTL_TRY(VisitMapping(value, key));
      const bool is_empty = leaves_.size() == before && visited_ == visited;
      if (!is_empty || empty_ == EmptyMappings::kDrop) return {};
    }
    DCPCTL_TRY(Take(key.size() + path_.size() * sizeof(PathElement)));
    leaves_.push_back({.path = path_, .key = key, .value = value, .key_is_certain = uncertain_ == 0});
    return {};
  }

  Result<void> VisitMapping(Value mapping, const std::string& key) {
    std::vector<Item> items = ItemsOf(mapping, room_, limits_);
    DCPCTL_TRY(Take(0));
    for (Item& item : items) {
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
      for (const Item& item : ItemsOf(value, room_, limits_)) items.push_back(item.value);
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
  pickle::Room room_;
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
  return value.has_set_item();
}

bool IsTakenApart(Value value, const Limits& limits) {
  if (IsMapping(value)) return HasItems(value);
  return Flattener(value, {}, limits, Flattening::kAlways, EmptyMappings::kDrop).IsOpen(value);
}

Result<std::vector<Leaf>> Flatten(Value root, std::string_view file, const Limits& limits, Flattening rules,
                                  EmptyMappings empty) {
  return Flattener(root, file, limits, rules, empty).Run(root);
}

}  // namespace dcpctl::torch
