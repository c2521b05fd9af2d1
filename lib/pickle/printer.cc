#include "pickle/printer.h"

#include <algorithm>
#include <array>

#include "pickle/big_int.h"
#include "pickle/repr.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

constexpr size_t kMaxDepth = 1000;  // as Limits::pickle_depth; below it "..." is printed

// Built-in classes whose repr is not their name.
constexpr std::array<std::string_view, 22> kBuiltinClasses = {
    "bool",      "bytearray", "bytes",        "classmethod", "complex",    "dict",   "enumerate", "float",
    "frozenset", "int",       "list",         "map",         "memoryview", "object", "property",  "range",
    "reversed",  "set",       "staticmethod", "str",         "tuple",      "type"};

bool IsIdentifier(std::string_view text) {
  const auto is_word = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  };
  if (text.empty() || !is_word(text[0])) return false;
  return std::ranges::all_of(text, [&](char c) { return is_word(c) || (c >= '0' && c <= '9'); });
}

// Not in the middle of a code point.
void CutUtf8(std::string& text, size_t size) {
  while (size > 0 && (text[size] & '\xc0') == '\x80') --size;
  text.resize(size);
}

}  // namespace

std::string Printer::Run(Value value) {
  Print(value);
  if (out_.size() > options_.max_bytes) {
    CutUtf8(out_, options_.max_bytes);
    out_ += "...";
  }
  return std::move(out_);
}

void Printer::Print(Value value) {
  if (Full()) {
    out_ += ' ';  // so that Run sees that there was more
    return;
  }
  switch (value.kind()) {
    case Kind::kNone: return Text("None");
    case Kind::kBool: return Text(value.AsBool() ? "True" : "False");
    case Kind::kInt: return Int(value.AsInt());
    case Kind::kBigInt: return Text(BigIntToText(value.AsText()));
    case Kind::kFloat: return AppendFloat(out_, value.AsFloat());
    case Kind::kString: return AppendString(out_, value.AsText(), Budget());
    case Kind::kBytes: return AppendBytes(out_, value.AsText(), Budget());
    case Kind::kByteArray:
      Text("bytearray(");
      AppendBytes(out_, value.AsText(), Budget());
      return Text(")");
    case Kind::kGlobal: return PrintGlobal(value);
    default: break;
  }
  const bool is_open = std::ranges::find(open_, value.identity()) != open_.end();
  if (is_open || open_.size() >= kMaxDepth) return Text("...");
  open_.push_back(value.identity());
  PrintNested(value);
  open_.pop_back();
}

void Printer::PrintNested(Value value) {
  const auto enclosed = [&](std::string_view before, std::string_view after) {
    Text(before);
    PrintItems(value);
    Text(after);
  };
  switch (value.kind()) {
    case Kind::kTuple: return enclosed("(", value.size() == 1 ? ",)" : ")");
    case Kind::kList: return enclosed("[", "]");
    case Kind::kSet: return value.size() == 0 ? Text("set()") : enclosed("{", "}");
    case Kind::kFrozenSet: return value.size() == 0 ? Text("frozenset()") : enclosed("frozenset({", "})");
    case Kind::kDict: return PrintDict(PairsOf(value));
    case Kind::kPersistentId:
    case Kind::kObject: break;
    default: return;
  }
  if (options_.describe) {
    const std::string text = options_.describe(value);
    if (!text.empty()) return Text(text);
  }
  if (value.Is(Kind::kObject)) return PrintObject(value);
  Text("<persistent id ");
  Print(value.persistent_id());
  Text(">");
}

void Printer::PrintObject(Value object) {
  if (!PrintKnown(object)) PrintCall(object);
}

bool Printer::PrintKnown(Value object) {
  const Value cls = InstanceOf(object).cls;
  if (!cls.Is(Kind::kGlobal)) return false;
  const GlobalName name = NewSpelling({cls.module(), cls.name()});
  for (const std::span<const Known> table : {StandardTypes::Table(), TorchTypes::Table()}) {
    for (const Known& known : table) {
      if (known.name == name.name && known.module == name.module) return (this->*known.print)(object);
    }
  }
  return false;
}

// `module.Name(args) {state}`; without the parentheses for an instance that was not called with anything.
void Printer::PrintCall(Value object) {
  const Instance instance = InstanceOf(object);
  if (instance.cls.Is(Kind::kGlobal)) {
    PrintName(instance.cls);
  } else {
    Print(instance.cls);
  }
  const bool has_args = !instance.args.Is(Kind::kTuple) || instance.args.size() > instance.first_arg ||
                        (instance.kwargs && (!instance.kwargs->Is(Kind::kDict) || instance.kwargs->size() > 0));
  const bool is_instance = object.construct() != Construct::kReduce || instance.first_arg > 0;
  if (has_args || !is_instance || object.operation_count() == 0) {
    Text("(");
    PrintArguments(instance.args, instance.first_arg, instance.kwargs);
    Text(")");
  }
  PrintOperations(object);
}

void Printer::PrintArguments(Value args, size_t first, std::optional<Value> kwargs) {
  size_t printed = 1;
  if (args.Is(Kind::kTuple)) {
    PrintItems(args, first);
    printed = args.size() - first;
  } else {
    Text("*");
    Print(args);
  }
  if (!kwargs) return;
  if (kwargs->Is(Kind::kDict)) return PrintNamed(PairsOf(*kwargs), printed);
  Text(printed > 0 ? ", **" : "**");
  Print(*kwargs);
}

void Printer::PrintNamed(std::span<const std::pair<Value, Value>> pairs, size_t printed) {
  if (!pairs.empty() && printed > 0) Text(", ");
  List(pairs.size(), [&](size_t i) {
    const auto& [key, value] = pairs[i];
    if (key.Is(Kind::kString) && IsIdentifier(key.AsText())) {
      Text(key.AsText());
      Text("=");
      Print(value);
    } else {
      Text("**{");
      Print(key);
      Text(": ");
      Print(value);
      Text("}");
    }
  });
}

void Printer::PrintOperations(Value object) {
  const auto is_kind = [&](size_t i, OperationKind kind) {
    return i < object.operation_count() && object.operation(i).kind == kind;
  };
  for (size_t begin = 0, end = 0; begin < object.operation_count() && !Full(); begin = end) {
    const OperationKind kind = object.operation(begin).kind;
    while (end - begin <= Budget() && is_kind(end, kind)) ++end;
    const auto print_first = [&](size_t i) { Print(object.operation(begin + i).first); };
    const auto print_pair = [&](size_t i) {
      print_first(i);
      Text(": ");
      Print(*object.operation(begin + i).second);
    };
    switch (kind) {
      case OperationKind::kAppend: Text(" ["), List(end - begin, print_first), Text("]"); break;
      case OperationKind::kAddItem: Text(" {"), List(end - begin, print_first), Text("}"); break;
      case OperationKind::kSetItem: Text(" {"), List(end - begin, print_pair), Text("}"); break;
      case OperationKind::kState:
        for (size_t i = 0; i < end - begin; ++i) Text(" "), print_first(i);
        break;
    }
  }
}

void Printer::PrintName(Value global) {
  const GlobalName name = NewSpelling({global.module(), global.name()});
  if (name.module != "builtins") {
    Text(name.module);
    Text(".");
  }
  Text(name.name);
}

void Printer::PrintGlobal(Value global) {
  const GlobalName name = NewSpelling({global.module(), global.name()});
  const bool is_class =
      name.module == "builtins" && std::ranges::find(kBuiltinClasses, name.name) != kBuiltinClasses.end();
  if (is_class) Text("<class '");
  PrintName(global);
  if (is_class) Text("'>");
}

void Printer::PrintDict(std::span<const std::pair<Value, Value>> pairs) {
  Text("{");
  List(pairs.size(), [&](size_t i) {
    Print(pairs[i].first);
    Text(": ");
    Print(pairs[i].second);
  });
  Text("}");
}

// More are not printed. Shared values may be printed many times, so the cost of each must be that of its text.
size_t Printer::Wanted(size_t count) const {
  return std::min({count, options_.max_items, Budget()}) + (count > options_.max_items ? 1 : 0);
}

Printer::Pairs Printer::PairsOf(Value dict) const {
  Pairs pairs;
  const size_t count = Wanted(dict.size());
  pairs.reserve(count);
  for (size_t i = 0; i < count; ++i) pairs.emplace_back(dict.key(i), dict.value(i));
  return pairs;
}

Printer::Pairs Printer::SetItemsOf(Value object) const {
  Pairs pairs;
  for (size_t i = 0; i < Wanted(object.operation_count()); ++i) {
    const Operation operation = object.operation(i);
    if (operation.kind == OperationKind::kSetItem) pairs.emplace_back(operation.first, *operation.second);
  }
  return pairs;
}

std::vector<Value> Printer::AppendedTo(Value object) const {
  std::vector<Value> items;
  for (size_t i = 0; i < Wanted(object.operation_count()); ++i) {
    const Operation operation = object.operation(i);
    if (operation.kind == OperationKind::kAppend) items.push_back(operation.first);
  }
  return items;
}

std::string Print(Value value, const PrintOptions& options) { return Printer(options).Run(value); }

}  // namespace dcpctl::pickle
