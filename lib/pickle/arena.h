// The node store behind a Document. A node is a few 32-bit words: a header (kind and count) and operands;
// a Ref is the position of its header. Small integers live in the Ref itself and None, False, True and ()
// have fixed Refs, so they take no space. A chunk of a `.metadata` pickle costs about 270 bytes this way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/text_hash.h"
#include "dcpctl/pickle.h"
#include "pickle/word_buffer.h"

namespace dcpctl::pickle {

using Ref = uint32_t;

inline constexpr Ref kNoneRef = 0;
inline constexpr Ref kFalseRef = 1;
inline constexpr Ref kTrueRef = 2;
inline constexpr Ref kEmptyTupleRef = 3;

// The top bit marks an integer of 31 bits; the rest of the space counts words.
constexpr bool IsInlineInt(Ref ref) { return ref >> 31 != 0; }
constexpr int64_t InlineIntValue(Ref ref) { return static_cast<int32_t>(ref << 1) >> 1; }
inline constexpr uint64_t kMaxWords = (uint64_t{1} << 31) - 2;
inline constexpr uint64_t kMaxSequenceCount = (uint64_t{1} << 28) - 1;  // of kTuple and kFrozenSet

// Owns text that has no other owner; addresses stay valid.
class TextPool {
 public:
  std::string_view Copy(std::string_view text);
  [[nodiscard]] size_t memory_bytes() const { return chars_.memory_bytes(); }

 private:
  Pool<char> chars_;
};

struct OperationRefs {
  OperationKind kind;
  Ref first;
  Ref second;  // kSetItem
};

// Functions that add nodes take it for granted that there is room for them: see HasRoom.
struct Document::Arena {
  Arena();

  // Whether `more` words can still be added.
  [[nodiscard]] bool HasRoom(uint64_t more) const { return words.size() + items.size() + more <= max_words; }

  Ref AddInt(int64_t value) {
    constexpr int64_t kInlineEnd = int64_t{1} << 30;
    if (value >= -kInlineEnd && value < kInlineEnd) return uint32_t{1} << 31 | static_cast<uint32_t>(value);
    return AddWideInt(value);
  }
  Ref AddFloat(double value);
  Ref AddText(Kind kind, std::string_view text);              // borrows `text`
  Ref AddSequence(Kind kind, std::span<const Ref> children);  // kTuple or kFrozenSet
  Ref AddContainer(Kind kind);                                // kList, kSet or kDict
  // `position` is one more than the distance of the opcode from base_offset; 0 for none.
  Ref AddGlobal(Ref module, Ref name, uint32_t position);
  Ref AddObject(Construct construct, Ref callable, Ref args, std::optional<Ref> kwargs, uint32_t position);
  Ref AddPersistentId(Ref id);

  // Adds entries at the end of a container: items, or keys and values in turn for kDict. False when full.
  [[nodiscard]] bool Append(Ref container, std::span<const Ref> entries);
  // Adds operations of one kind to an object: keys and values in turn for kSetItem. False when full.
  [[nodiscard]] bool AddOperations(Ref object, OperationKind kind, std::span<const Ref> operands);

  [[nodiscard]] Kind KindOf(Ref ref) const {
    return IsInlineInt(ref) ? Kind::kInt : static_cast<Kind>(words[ref] & kKindMask);
  }
  [[nodiscard]] int64_t IntOf(Ref ref) const;
  [[nodiscard]] double FloatOf(Ref ref) const;
  [[nodiscard]] std::string_view TextOf(Ref ref) const;
  // Children of kTuple, kFrozenSet, kList, kSet; keys and values in turn of kDict. Valid until a node is added.
  [[nodiscard]] std::span<const Ref> ChildrenOf(Ref ref) const;
  [[nodiscard]] Ref ModuleOf(Ref global) const { return words[global + 2]; }
  [[nodiscard]] Ref NameOf(Ref global) const { return words[global + 3]; }
  [[nodiscard]] Construct ConstructOf(Ref object) const;
  [[nodiscard]] Ref CallableOf(Ref object) const { return words[object + 1]; }
  [[nodiscard]] Ref ArgsOf(Ref object) const;
  [[nodiscard]] std::optional<Ref> KwargsOf(Ref object) const;
  [[nodiscard]] size_t OperationCountOf(Ref object) const;
  [[nodiscard]] OperationRefs OperationOf(Ref object, size_t i) const;
  [[nodiscard]] std::optional<Ref> StateOf(Ref object) const;  // argument of its last kState operation
  [[nodiscard]] bool HasSetItem(Ref object) const;
  [[nodiscard]] Ref PersistentIdOf(Ref ref) const { return words[ref + 1]; }
  [[nodiscard]] uint32_t PositionOf(Ref ref) const;  // kGlobal and kObject
  // Words that a node takes in `words`.
  [[nodiscard]] size_t WordsOf(Ref ref) const;

  // For nodes that are made before what they refer to; an object must have no operations yet.
  void SetChild(Ref sequence, size_t i, Ref child) { words[sequence + 1 + i] = child; }
  void SetCall(Ref object, Ref callable, Ref args, std::optional<Ref> kwargs);
  void SetPersistentId(Ref ref, Ref id) { words[ref + 1] = id; }

  WordBuffer words;              // nodes
  WordBuffer items;              // what containers hold, and operations of objects
  std::vector<Ref> all_globals;  // in the order in which they were made
  std::vector<Ref> all_persistent_ids;
  TextPool text;
  size_t text_bytes = 0;  // of all nodes, wherever the text is
  uint64_t max_words = kMaxWords;
  uint64_t base_offset = 0;
  Ref root = kNoneRef;
  TextViewMap<Ref> strings;                   // built with Document::String
  std::unordered_map<uint64_t, Ref> globals;  // built with Document::Global: refs of module and name
  std::vector<std::shared_ptr<const void>> owners;

 private:
  static constexpr uint32_t kKindMask = 0xf;

  Ref AddWideInt(int64_t value);
  void MoveOperations(Ref object, uint32_t capacity);
};

// Lets this folder get at what a Value is made of.
struct ValueAccess {
  static const Document& DocumentOf(Value value) { return *value.document_; }
  static const Document::Arena& ArenaOf(Value value) { return value.document_->arena(); }
  static Value Make(const Document& document, Ref ref) { return {&document, ref}; }
};

}  // namespace dcpctl::pickle
