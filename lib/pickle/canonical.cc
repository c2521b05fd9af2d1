#include "pickle/canonical.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pickle/arena.h"
#include "pickle/python_types.h"

namespace dcpctl::pickle {
namespace {

// What comes first in the bytes that a node's digest is of. Part of the manifests that dcpctl writes: never changed.
enum class Tag : char {
  kNone = 'N',
  kTrue = 'T',
  kFalse = 'F',
  kInt = 'i',
  kBigInt = 'I',
  kFloat = 'f',
  kString = 's',
  kBytes = 'b',
  kByteArray = 'B',
  kTuple = 't',
  kList = 'l',
  kSet = 'e',
  kFrozenSet = 'z',
  kDict = 'd',
  kGlobal = 'g',
  kCall = 'c',
  kInstance = 'n',
  kPersistentId = 'p',
  kAbove = '^',  // a container that the value is in
};

struct ModuleName {
  std::string_view old_name;
  std::string_view new_name;
};
// Modules that were renamed, with all that is in them.
constexpr std::array kRenamedModules = {ModuleName{"numpy.core", "numpy._core"},
                                        ModuleName{"pathlib._local", "pathlib"}};

class Node {
 public:
  explicit Node(Tag tag) : bytes_(1, static_cast<char>(tag)) {}
  Node& Number(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(number >> shift);
    return *this;
  }
  Node& Text(std::string_view text) {
    Number(text.size());
    bytes_ += text;
    return *this;
  }
  Node& Child(const Sha256Digest& digest) {
    bytes_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return *this;
  }
  Node& Children(const std::vector<Sha256Digest>& digests) {
    Number(digests.size());
    for (const Sha256Digest& digest : digests) Child(digest);
    return *this;
  }
  [[nodiscard]] Sha256Digest Digest() const { return Sha256Of(bytes_); }

 private:
  std::string bytes_;
};

std::string ModuleOf(std::string_view module) {
  for (const ModuleName& renamed : kRenamedModules) {
    if (module != renamed.old_name && !module.starts_with(std::string(renamed.old_name) + ".")) continue;
    return std::string(renamed.new_name) + std::string(module.substr(renamed.old_name.size()));
  }
  return std::string(module);
}

// The name alone: below protocol 4 a dotted one is calls of getattr, one in the other.
struct FullName {
  std::string module;
  std::string name;
};
std::optional<FullName> NameOf(Value value, uint32_t max_depth) {
  std::string attributes;
  for (uint32_t depth = 0; !value.Is(Kind::kGlobal); ++depth) {
    if (depth == max_depth || !value.Is(Kind::kObject) || !value.IsCallOf("builtins", "getattr")) return {};
    const Value args = value.args();
    if (value.operation_count() != 0 || !args.Is(Kind::kTuple) || args.size() != 2 || !args[1].Is(Kind::kString))
      return {};
    attributes.insert(0, "." + std::string(args[1].AsText()));
    value = args[0];
  }
  const std::string_view dotted = value.name();
  const size_t first = std::min(dotted.find('.'), dotted.size());
  const GlobalName name = NewSpelling({value.module(), dotted.substr(0, first)});
  return FullName{ModuleOf(name.module), std::string(name.name) + std::string(dotted.substr(first)) + attributes};
}

// Whether the class is asked for an instance that it has not been called for.
bool IsInstance(Value object) {
  return object.construct() != Construct::kReduce || object.IsCallOf("copyreg", "_reconstructor") ||
         object.IsCallOf("copyreg", "__newobj__") || object.IsCallOf("copyreg", "__newobj_ex__") ||
         (object.callable().IsCallOf("functools", "partial") && object.args().Is(Kind::kTuple) &&
          object.args().size() == 0);
}

// A step from a container to what it holds. Each is taken once, and takes four bytes of the document or more; only what
// refers to a container around it is followed again wherever it is.
constexpr uint64_t kLeastSteps = 100'000;

class Digester {
 public:
  Digester(const PersistentIdDigest& persistent_id, const Limits& limits, const Document& document)
      : persistent_id_(persistent_id), limits_(limits), max_steps_(kLeastSteps + document.memory_bytes()) {}

  Result<Sha256Digest> Of(Value value) {
    if (++steps_ > max_steps_)
      return Fail(ErrorKind::kLimit, "value contains itself in so many ways that it takes more than " +
                                         std::to_string(max_steps_) + " steps to follow");
    if (const auto known = known_.find(value.identity()); known != known_.end()) return known->second;
    if (const auto open = open_.find(value.identity()); open != open_.end()) {
      lowest_ = std::min(lowest_, open->second);
      return Node(Tag::kAbove).Number(open_.size() - open->second).Digest();
    }
    if (open_.size() > limits_.pickle_depth)
      return Fail(ErrorKind::kLimit, "values are nested deeper than " + std::to_string(limits_.pickle_depth));
    const size_t level = open_.size();
    const size_t lowest_before = std::exchange(lowest_, SIZE_MAX);
    open_.emplace(value.identity(), level);
    auto digest = Make(value);
    open_.erase(value.identity());
    // What refers to a container around it is another value elsewhere.
    if (digest && lowest_ >= level) known_.emplace(value.identity(), *digest);
    lowest_ = std::min(lowest_before, lowest_ >= level ? SIZE_MAX : lowest_);
    return digest;
  }

 private:
  Result<Sha256Digest> Make(Value value) {
    switch (value.kind()) {
      case Kind::kNone: return Node(Tag::kNone).Digest();
      case Kind::kBool: return Node(value.AsBool() ? Tag::kTrue : Tag::kFalse).Digest();
      case Kind::kInt: return Node(Tag::kInt).Number(static_cast<uint64_t>(value.AsInt())).Digest();
      case Kind::kBigInt: return Node(Tag::kBigInt).Text(value.AsText()).Digest();
      case Kind::kFloat: return OfFloat(value.AsFloat());
      case Kind::kString: return Node(Tag::kString).Text(value.AsText()).Digest();
      case Kind::kBytes: return Node(Tag::kBytes).Text(value.AsText()).Digest();
      case Kind::kByteArray: return Node(Tag::kByteArray).Text(value.AsText()).Digest();
      case Kind::kTuple: return OfSequence(Tag::kTuple, value, 0);
      case Kind::kList: return OfSequence(Tag::kList, value, 0);
      case Kind::kSet: return OfSet(Tag::kSet, value);
      case Kind::kFrozenSet: return OfSet(Tag::kFrozenSet, value);
      case Kind::kDict: return OfDict(value);
      case Kind::kGlobal: return OfName(*NameOf(value, 0));
      case Kind::kObject: return OfObject(value);
      case Kind::kPersistentId: {
        DCPCTL_ASSIGN(const Sha256Digest digest, persistent_id_(value.persistent_id()));
        return Node(Tag::kPersistentId).Child(digest).Digest();
      }
    }
    return Fail(ErrorKind::kInternal, "a pickle value of no kind");
  }

  static Sha256Digest OfFloat(double value) {
    return Node(Tag::kFloat).Number(std::isnan(value) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(value)).Digest();
  }

  static Sha256Digest OfName(const FullName& name) {
    return Node(Tag::kGlobal).Text(name.module).Text(name.name).Digest();
  }

  Result<std::vector<Sha256Digest>> Items(Value sequence, size_t first) {
    std::vector<Sha256Digest> digests;
    for (size_t i = first; i < sequence.size(); ++i) {
      DCPCTL_ASSIGN(const Sha256Digest digest, Of(sequence[i]));
      digests.push_back(digest);
    }
    return digests;
  }

  Result<Sha256Digest> OfSequence(Tag tag, Value sequence, size_t first) {
    DCPCTL_ASSIGN(const auto digests, Items(sequence, first));
    return Node(tag).Children(digests).Digest();
  }

  static void SortSet(std::vector<Sha256Digest>& digests) {
    std::sort(digests.begin(), digests.end());
    digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  }

  Result<Sha256Digest> OfSet(Tag tag, Value items) {
    DCPCTL_ASSIGN(auto digests, Items(items, 0));
    SortSet(digests);
    return Node(tag).Children(digests).Digest();
  }

  using Pairs = std::vector<std::pair<Sha256Digest, Sha256Digest>>;

  // Entries by key, so that their order does not matter; of equal keys the last.
  static Sha256Digest OfPairs(const Pairs& pairs) {
    const std::map<Sha256Digest, Sha256Digest> by_key = [&] {
      std::map<Sha256Digest, Sha256Digest> map;
      for (const auto& [key, value] : pairs) map.insert_or_assign(key, value);
      return map;
    }();
    Node node(Tag::kDict);
    node.Number(by_key.size());
    for (const auto& [key, value] : by_key) node.Child(key).Child(value);
    return node.Digest();
  }

  Result<Sha256Digest> OfDict(Value dict) {
    Pairs pairs;
    for (size_t i = 0; i < dict.size(); ++i) {
      DCPCTL_ASSIGN(const Sha256Digest key, Of(dict.key(i)));
      DCPCTL_ASSIGN(const Sha256Digest value, Of(dict.value(i)));
      pairs.emplace_back(key, value);
    }
    return OfPairs(pairs);
  }

  // Built-in types that older protocols have no opcode for.
  Result<std::optional<Sha256Digest>> OfBuiltIn(Value object) {
    std::optional<Sha256Digest> none;
    if (object.operation_count() != 0 || !object.args().Is(Kind::kTuple)) return none;
    if (const auto bytes = AsBytes(object)) return Node(Tag::kBytes).Text(*bytes).Digest();
    if (const auto name = NameOf(object, limits_.pickle_depth)) return OfName(*name);
    const Value args = object.args();
    if (object.IsCallOf("builtins", "bytearray") && args.size() <= 1) {
      const auto bytes = args.size() == 0 ? std::string() : AsBytes(args[0]);
      if (bytes) return Node(Tag::kByteArray).Text(*bytes).Digest();
    }
    for (const auto& [name, tag] : {std::pair("set", Tag::kSet), std::pair("frozenset", Tag::kFrozenSet)}) {
      if (!object.IsCallOf("builtins", name)) continue;
      if (args.size() == 0) return Node(tag).Children({}).Digest();
      if (args.size() != 1 || !(args[0].Is(Kind::kList) || args[0].Is(Kind::kTuple))) continue;
      DCPCTL_ASSIGN(const Sha256Digest digest, OfSet(tag, args[0]));
      return std::optional(digest);
    }
    return none;
  }

  Result<Sha256Digest> OfObject(Value object) {
    DCPCTL_ASSIGN(const std::optional<Sha256Digest> built_in, OfBuiltIn(object));
    if (built_in) return *built_in;
    const Instance made = InstanceOf(object);
    Node node(IsInstance(object) ? Tag::kInstance : Tag::kCall);
    DCPCTL_ASSIGN(const Sha256Digest cls, Of(made.cls));
    node.Child(cls);
    if (made.args.Is(Kind::kTuple)) {
      DCPCTL_ASSIGN(const Sha256Digest args, OfSequence(Tag::kTuple, made.args, made.first_arg));
      node.Child(args);
    } else {
      DCPCTL_ASSIGN(const Sha256Digest args, Of(made.args));
      node.Child(args);
    }
    if (made.kwargs && !(made.kwargs->Is(Kind::kDict) && made.kwargs->size() == 0)) {
      DCPCTL_ASSIGN(const Sha256Digest kwargs, Of(*made.kwargs));
      node.Child(kwargs);
    }
    DCPCTL_TRY(AddOperations(object, node));
    return node.Digest();
  }

  // What is appended, set, added and told, each in its order, but for what has none.
  Result<void> AddOperations(Value object, Node& node) {
    std::array<std::vector<Sha256Digest>, 4> digests;
    Pairs pairs;
    for (size_t i = 0; i < object.operation_count(); ++i) {
      const Operation operation = object.operation(i);
      DCPCTL_ASSIGN(const Sha256Digest first, Of(operation.first));
      digests[static_cast<size_t>(operation.kind)].push_back(first);
      if (operation.kind != OperationKind::kSetItem) continue;
      DCPCTL_ASSIGN(const Sha256Digest second, Of(*operation.second));
      digests[static_cast<size_t>(operation.kind)].push_back(second);
      pairs.emplace_back(first, second);
    }
    // The one class with items in this way whose order Python's == does not look at.
    if (object.callable().IsGlobal("collections", "defaultdict"))
      digests[static_cast<size_t>(OperationKind::kSetItem)] = {OfPairs(pairs)};
    SortSet(digests[static_cast<size_t>(OperationKind::kAddItem)]);
    for (const auto& list : digests) node.Children(list);
    return {};
  }

  const PersistentIdDigest& persistent_id_;
  const Limits& limits_;
  std::unordered_map<uint32_t, Sha256Digest> known_;
  std::unordered_map<uint32_t, size_t> open_;  // levels of what is being digested
  size_t lowest_ = SIZE_MAX;                   // level that was referred to in what is being digested
  const uint64_t max_steps_;
  uint64_t steps_ = 0;
};

}  // namespace

Result<Sha256Digest> CanonicalDigest(Value value, const PersistentIdDigest& persistent_id, const Limits& limits) {
  return Digester(persistent_id, limits, ValueAccess::DocumentOf(value)).Of(value);
}

}  // namespace dcpctl::pickle
