// A symbolic model of any Python pickle, protocols 0 to 5. Reading runs nothing: globals, calls and
// objects become nodes that say what Python would do. Shared references and cycles keep their identity.
// A Document owns its nodes; a Value is a cheap handle into it and valid as long as the Document lives
// and is not moved from. A Document may be read from several threads; building needs one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/error.h"
#include "dcpctl/limits.h"

namespace dcpctl::pickle {

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,     // fits int64_t
  kBigInt,  // any other integer, as two's complement little-endian bytes
  kFloat,
  kString,  // UTF-8; surrogates passed through as Python's "surrogatepass" does
  kBytes,
  kByteArray,
  kTuple,
  kList,
  kSet,
  kFrozenSet,
  kDict,
  kGlobal,        // module and name; never imported
  kObject,        // what a call makes: Construct, then Operations
  kPersistentId,  // torch.save: a storage
};

// How an object comes to be: REDUCE calls callable(*args); NEWOBJ calls callable.__new__(callable, *args);
// NEWOBJ_EX adds keyword arguments.
enum class Construct : uint8_t { kReduce, kNewObj, kNewObjEx };

// What a pickle does to an object after making it, in order.
enum class OperationKind : uint8_t { kAppend, kSetItem, kAddItem, kState };

class Document;
struct Field;
struct Operation;

// Each accessor is for the kinds that it names; asking another kind is a bug and throws std::logic_error.
class Value {
 public:
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool Is(Kind k) const { return kind() == k; }

  [[nodiscard]] bool AsBool() const;     // kBool
  [[nodiscard]] int64_t AsInt() const;   // kInt
  [[nodiscard]] double AsFloat() const;  // kFloat
  // The characters of a kString, bytes of kBytes, kByteArray and kBigInt. Lives as long as the Document.
  [[nodiscard]] std::string_view AsText() const;

  // Items of kTuple, kList, kSet, kFrozenSet; pairs of kDict.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] Value operator[](size_t i) const;  // not kDict
  [[nodiscard]] Value key(size_t i) const;         // kDict
  [[nodiscard]] Value value(size_t i) const;       // kDict
  // Appends the items of a kTuple or kList to `out`, if they are all kInt and none is negative; false otherwise.
  bool AppendCounts(std::vector<uint64_t>& out) const;
  // kDict: the value under a str key; of equal keys the last, as Python has it. Linear.
  [[nodiscard]] std::optional<Value> Find(std::string_view key) const;

  [[nodiscard]] std::string_view module() const;  // kGlobal, as written
  [[nodiscard]] std::string_view name() const;    // kGlobal; may be dotted from protocol 4 on
  // kGlobal with this module and name; Python 2 spellings ("__builtin__", "copy_reg") count as the new ones.
  [[nodiscard]] bool IsGlobal(std::string_view module, std::string_view name) const;

  [[nodiscard]] Construct construct() const;          // kObject
  [[nodiscard]] Value callable() const;               // kObject
  [[nodiscard]] Value args() const;                   // kObject: usually a kTuple
  [[nodiscard]] std::optional<Value> kwargs() const;  // kObject made by kNewObjEx
  [[nodiscard]] size_t operation_count() const;       // kObject
  [[nodiscard]] Operation operation(size_t i) const;  // kObject
  [[nodiscard]] std::optional<Value> state() const;   // kObject: argument of its last kState operation
  [[nodiscard]] bool has_set_item() const;            // kObject: whether one of its operations is kSetItem
  // What a call of a global with this name, of whatever module, got as its only argument; nothing for other values.
  [[nodiscard]] std::optional<Value> OnlyArgumentOf(std::string_view name) const;
  // Attributes of a kObject whose state is a dict: fills `value` of each field that is there and not None, in one
  // pass over the dict. False, and nothing filled, for anything else.
  bool ReadFields(std::span<Field> fields) const;
  // kObject made by calling exactly this global.
  [[nodiscard]] bool IsCallOf(std::string_view module, std::string_view name) const;

  [[nodiscard]] Value persistent_id() const;  // kPersistentId

  // Equal for the same node of one Document, whatever the path to it.
  [[nodiscard]] uint32_t identity() const { return ref_; }
  // Absolute offset in the file of the opcode that made a kGlobal or kObject; 0 for built ones and others.
  [[nodiscard]] uint64_t offset() const;

 private:
  friend class Document;
  friend struct ValueAccess;  // lib/pickle
  Value(const Document* document, uint32_t ref) : document_(document), ref_(ref) {}
  const Document* document_;
  uint32_t ref_;
};

// For Value::ReadFields.
struct Field {
  std::string_view name;
  std::optional<Value> value = std::nullopt;
};

struct Operation {
  OperationKind kind;
  Value first;                  // item, key or state
  std::optional<Value> second;  // value of kSetItem
};

class Document {
 public:
  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  [[nodiscard]] Value root() const;
  void SetRoot(Value value);

  Value None();
  Value Bool(bool value);
  Value Int(int64_t value);
  Value BigInt(std::string_view twos_complement_le);
  Value Float(double value);
  Value String(std::string_view utf8);  // equal strings may share one node
  Value Bytes(std::string_view bytes);
  Value ByteArray(std::string_view bytes);
  Value Tuple(std::span<const Value> items);
  Value Tuple(std::initializer_list<Value> items) { return Tuple(std::span(items.begin(), items.size())); }
  Value List();
  Value Dict();
  Value Set();
  Value FrozenSet(std::span<const Value> items);
  Value Global(std::string_view module, std::string_view name);  // equal globals share one node
  Value Object(Construct construct, Value callable, Value args, std::optional<Value> kwargs = std::nullopt);
  Value Call(Value callable, std::initializer_list<Value> args) {
    return Object(Construct::kReduce, callable, Tuple(args));
  }
  Value PersistentId(Value id);

  void Append(Value list_or_object, Value item);  // kList, or kAppend of a kObject
  void Add(Value set_or_object, Value item);      // kSet, or kAddItem of a kObject
  void SetItem(Value dict_or_object, Value key,
               Value item);  // kDict (not looked up: appended), or kSetItem of a kObject
  void SetState(Value object, Value state);

  // Copies a graph of another Document into this one. References shared within one Importer stay shared.
  // `persistent_id` may replace a storage's id; it gets the id in the source and makes the new one here.
  class Importer {
   public:
    using PersistentIdMapper = std::function<Result<Value>(Value id, Document& target)>;
    Importer(Document& target, PersistentIdMapper persistent_id, const Limits& limits = {});
    ~Importer();
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;
    Result<Value> Import(Value value);

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

  // Every global of the pickle in the order of the input, also those in values that the pickle throws away
  // (POP) and that the root therefore does not reach, but that Python would import.
  [[nodiscard]] std::vector<Value> Globals() const;

  // Bytes of memory held by nodes and text, not counting borrowed input.
  [[nodiscard]] size_t memory_bytes() const;
  // Bytes of nodes and of all text, borrowed or not: how much there is to make something of.
  [[nodiscard]] size_t content_bytes() const;
  // Keeps `owner` (say, the bytes that were read) alive as long as this Document.
  void KeepAlive(std::shared_ptr<const void> owner);

  struct Arena;
  [[nodiscard]] Arena& arena() { return *arena_; }  // for the reader
  [[nodiscard]] const Arena& arena() const { return *arena_; }

 private:
  friend class Value;
  std::unique_ptr<Arena> arena_;
};

struct ReadOptions {
  std::string file = {};             // for messages
  uint64_t base_offset = 0;          // absolute offset of the first byte in `file`
  bool allow_persistent_ids = true;  // false for `.metadata`
  Limits limits = {};
};

// Reads one pickle from the front of `bytes`, up to and including STOP. Text is not copied: `bytes` must
// outlive the Document (see KeepAlive). `consumed`, when given, gets the pickle's length; without it bytes
// after STOP are an error. Errors: kCorrupt (bad opcode, stack or memo misuse, cut off), kLimit, kUnsupported
// (extension registry, out-of-band buffers).
Result<Document> ReadPickle(std::span<const std::byte> bytes, const ReadOptions& options, uint64_t* consumed = nullptr);

struct WriteOptions {
  int protocol = 2;  // 2: opcodes that PyTorch's weights-only loader accepts where the value allows it; or 4
  Limits limits = {};
};

// Equal graphs give equal bytes. Only what is referenced more than once is put in the memo.
Result<std::string> WritePickle(Value root, const WriteOptions& options = {});

struct PrintOptions {
  // The text is cut with "..." here. A value is printed again wherever it is shared, so that without a
  // bound a pickle of a few hundred bytes could have a text larger than any memory.
  size_t max_bytes = size_t{64} << 20;
  size_t max_items = SIZE_MAX;  // per container
  // Text for a tensor (an object the caller recognises); empty when it is not one.
  std::function<std::string(Value)> describe = {};
};

// As Python's repr would show it: numbers, strings, containers, the standard library's and PyTorch's own
// small types; instances of other classes as `module.Name(args) {state}`. Shared containers are printed
// again, cycles as "...". Never fails.
std::string Print(Value value, const PrintOptions& options = {});

// What Python's type(x).__name__ would be: "int", "OrderedDict", ...; for unknown classes the class's name.
std::string TypeName(Value value);

// Bytes written as `_codecs.encode(text, "latin1")`, the way protocol 2 spells them; or a kBytes node's own. The first
// `max_bytes` of them: no more is looked at.
std::optional<std::string> AsBytes(Value value, size_t max_bytes = SIZE_MAX);

}  // namespace dcpctl::pickle
