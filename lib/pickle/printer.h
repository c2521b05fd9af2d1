// Prints values as Python's repr would. Knows the calls that stand for small standard types by name;
// everything else is shown as the call, with its state. Internal; see Print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dcpctl/pickle.h"
#include "pickle/python_types.h"

namespace dcpctl::pickle {

class Printer {
 public:
  // Stores `options`, which must outlive it.
  explicit Printer(const PrintOptions& options) : options_(options) {}
  std::string Run(Value value);

  // Prints an object of one known type. False, with nothing printed, when its parts are not those of that type.
  using Method = bool (Printer::*)(Value object);
  struct Known {
    std::string_view module;
    std::string_view name;
    Method print;
  };

 private:
  friend struct StandardTypes;
  friend struct TorchTypes;
  using Pairs = std::vector<std::pair<Value, Value>>;

  void Print(Value value);
  void PrintNested(Value value);
  void PrintObject(Value object);
  void PrintCall(Value object);
  void PrintArguments(Value args, size_t first, std::optional<Value> kwargs);
  void PrintOperations(Value object);
  void PrintGlobal(Value global);
  void PrintName(Value global);
  bool PrintKnown(Value object);
  void PrintDict(std::span<const std::pair<Value, Value>> pairs);
  // Keyword arguments, after `printed` positional ones.
  void PrintNamed(std::span<const std::pair<Value, Value>> pairs, size_t printed = 0);

  // count items, by print_item(i), with commas.
  template <typename PrintItem>
  void List(size_t count, PrintItem print_item) {
    for (size_t i = 0; i < count && !Full(); ++i) {
      if (i > 0) out_ += ", ";
      if (i >= options_.max_items) {
        out_ += "...";
        return;
      }
      print_item(i);
    }
  }
  void PrintItems(Value sequence, size_t first = 0) {
    List(sequence.size() - first, [&](size_t i) { Print(sequence[first + i]); });
  }
  void PrintItems(std::span<const Value> items) {
    List(items.size(), [&](size_t i) { Print(items[i]); });
  }
  void Text(std::string_view text) { out_ += text.substr(0, Budget() + 1); }  // one more, so that Run sees it
  void Int(int64_t value) { out_ += std::to_string(value); }

  [[nodiscard]] size_t Wanted(size_t count) const;
  [[nodiscard]] Pairs PairsOf(Value dict) const;
  [[nodiscard]] Pairs SetItemsOf(Value object) const;
  [[nodiscard]] std::vector<Value> AppendedTo(Value object) const;

  // Standard library.
  bool OrderedDict(Value object);
  bool DefaultDict(Value object);
  bool Counter(Value object);
  bool Deque(Value object);
  bool Complex(Value object);
  bool Set(Value object);
  bool FrozenSet(Value object);
  bool ByteArray(Value object);
  bool Encoded(Value object);
  bool Range(Value object);
  bool TypeOf(Value object);
  bool GetAttr(Value object);
  bool Date(Value object);
  bool DateTime(Value object);
  bool Time(Value object);
  bool TimeDelta(Value object);
  bool TimeZone(Value object);
  bool Path(Value object);
  bool Partial(Value object);
  bool Namespace(Value object);
  bool SimpleNamespace(Value object);
  bool Uuid(Value object);
  bool CollectionOf(Value object, std::string_view name);
  void TimeOfDay(std::string_view bytes, size_t printed);
  void TimeTail(Value args, bool fold);
  bool AttributesOf(Value object, std::string_view name);

  // PyTorch and NumPy.
  bool Size(Value object);
  bool Device(Value object);
  bool Layout(Value object);
  bool NumpyScalar(Value object);
  bool NumpyArray(Value object);
  bool NumpyDType(Value object);

  // Enough was printed.
  [[nodiscard]] bool Full() const { return out_.size() >= options_.max_bytes; }
  [[nodiscard]] size_t Budget() const { return Full() ? 0 : options_.max_bytes - out_.size(); }

  const PrintOptions& options_;
  std::string out_;
  std::vector<uint32_t> open_;  // identities of what is being printed, outermost first
};

// The types of print_standard.cc and print_torch.cc.
struct StandardTypes {
  static std::span<const Printer::Known> Table();
};
struct TorchTypes {
  static std::span<const Printer::Known> Table();
};

}  // namespace dcpctl::pickle
