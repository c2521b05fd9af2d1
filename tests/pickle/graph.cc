#include "tests/pickle/graph.h"

#include <unordered_map>

#include "base/quote.h"
#include "pickle/python_types.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

class Shaper {
 public:
  std::string Run(Value root) {
    Visit(root);
    return std::move(out_);
  }

 private:
  void Visit(Value value) {
    switch (value.kind()) {
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kBigInt:
      case Kind::kFloat: out_ += std::string(KindName(value.kind())) + ":" + Print(value); return;
      default: break;
    }
    if (value.Is(Kind::kTuple) && value.size() == 0) {
      out_ += "()";
      return;
    }
    // Strings and globals are not numbered: equal ones may be shared or not.
    if (value.Is(Kind::kString)) {
      out_ += Print(value);
      return;
    }
    if (value.Is(Kind::kGlobal) || (value.Is(Kind::kObject) && IsPathCall(value))) {
      out_ += GlobalText(value);
      return;
    }
    const auto [known, is_new] = numbers_.try_emplace(value.identity(), numbers_.size());
    out_ += "#" + std::to_string(known->second);
    if (is_new) VisitNew(value);
  }

  void VisitNew(Value value) {
    if (const auto bytes = AsBytes(value)) {
      out_ += "bytes:" + Escape(*bytes);
      return;
    }
    switch (value.kind()) {
      case Kind::kByteArray: out_ += "bytearray:" + Escape(value.AsText()); return;
      case Kind::kTuple:
      case Kind::kList:
      case Kind::kSet:
      case Kind::kFrozenSet: return VisitItems(std::string(KindName(value.kind())), value);
      case Kind::kDict:
        out_ += "dict[";
        for (size_t i = 0; i < value.size(); ++i) VisitPair(value.key(i), value.value(i));
        out_ += "]";
        return;
      case Kind::kPersistentId:
        out_ += "persistent:";
        Visit(value.persistent_id());
        return;
      default: return VisitObject(value);
    }
  }

  void VisitItems(const std::string& name, Value sequence) {
    out_ += name + "[";
    for (size_t i = 0; i < sequence.size(); ++i) {
      Visit(sequence[i]);
      out_ += ",";
    }
    out_ += "]";
  }

  void VisitPair(Value key, Value value) {
    Visit(key);
    out_ += "=";
    Visit(value);
    out_ += ",";
  }

  static std::string GlobalText(Value global) {
    if (global.Is(Kind::kObject)) return GlobalText(global.args()[0]) + "." + std::string(global.args()[1].AsText());
    const GlobalName name = NewSpelling({global.module(), global.name()});
    return "global:" + std::string(name.module) + ":" + std::string(name.name);
  }

  // getattr(global, name), and so on.
  static bool IsPathCall(Value value) {
    return value.IsCallOf("builtins", "getattr") && value.operation_count() == 0 && value.args().size() == 2 &&
           value.args()[1].Is(Kind::kString) && (value.args()[0].Is(Kind::kGlobal) || IsPathCall(value.args()[0]));
  }

  void VisitObject(Value value) {
    const Value args = value.args();
    const bool is_plain = value.operation_count() == 0;
    if (is_plain && value.IsCallOf("builtins", "set")) {
      VisitItems("set", args[0]);
    } else if (is_plain && value.IsCallOf("builtins", "frozenset")) {
      VisitItems("frozenset", args[0]);
    } else if (is_plain && value.IsCallOf("builtins", "bytearray")) {
      out_ += "bytearray:" + Escape(args.size() == 0 ? std::string() : AsBytes(args[0]).value());
    } else if (value.IsCallOf("copyreg", "__newobj_ex__")) {
      VisitCall("newobj_ex", args[0], args[1], args[2]);
    } else {
      constexpr const char* kNames[] = {"reduce", "newobj", "newobj_ex"};
      VisitCall(kNames[static_cast<size_t>(value.construct())], value.callable(), args, value.kwargs());
    }
    for (size_t i = 0; i < value.operation_count(); ++i) {
      const Operation operation = value.operation(i);
      out_ += " op" + std::to_string(static_cast<int>(operation.kind)) + ":";
      Visit(operation.first);
      if (operation.second) out_ += "=", Visit(*operation.second);
    }
  }

  void VisitCall(const std::string& name, Value callable, Value args, std::optional<Value> kwargs) {
    out_ += name + "(";
    Visit(callable);
    out_ += ";";
    Visit(args);
    if (kwargs) out_ += ";", Visit(*kwargs);
    out_ += ")";
  }

  std::string out_;
  std::unordered_map<uint32_t, size_t> numbers_;
};

}  // namespace

Document MustRead(std::string_view pickle) { return test::Value(ReadPickle(test::BytesOf(pickle), ReadOptions{})); }

std::string MustWrite(Value root, int protocol) {
  return test::Value(WritePickle(root, WriteOptions{.protocol = protocol}));
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string Shape(Value root) { return Shaper().Run(root); }

}  // namespace dcpctl::pickle
