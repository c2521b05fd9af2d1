#include "pickle/arena.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace dcpctl::pickle {
namespace {

// Layout of nodes in `words`; the low four bits of a header are the kind.
//   kNone                     [kind]
//   kBool                     [kind | value << 4]
//   kInt, kFloat              [kind] [low] [high]
//   kString and other text    [kind | length << 4] [pointer, 2 words]; long text: kLongText, then [length, 2 words]
//   kTuple, kFrozenSet        [kind | count << 4] [child]...
//   kList, kSet, kDict        [kind | grown << 4 | count << 5] [start in `items`]
//   kGlobal                   [kind] [position] [module] [name]
//   kObject                   [kind | construct << 4 | form << 6 | has kSetItem << 8]
//                             [callable] [slot] [position] [kwargs, kNewObjEx]
//   kPersistentId             [kind] [id]
constexpr int kCountShift = 4;
constexpr uint32_t kLongText = (uint32_t{1} << 28) - 1;

// A container is first given as many items as come, most never get more. Once it has had to move, `grown`
// is set and its room is the power of two that is not less than its count.
constexpr uint32_t kGrown = 1 << 4;
constexpr int kContainerCountShift = 5;
constexpr uint64_t kMaxContainerCount = (uint64_t{1} << 26) - 1;

// What the slot of an object holds.
enum class Form : uint32_t {
  kPlain,      // args; no operations
  kStateOnly,  // the state, args being (): what dataclasses and most instances look like
  kRecord,     // where in `items` there is [args] [count] [capacity] [operations up to the last state] and three words
               // for each operation
};
constexpr int kConstructShift = 4;
constexpr int kFormShift = 6;
constexpr uint32_t kHasSetItem = 1 << 8;
constexpr size_t kRecordHeader = 4;
constexpr size_t kOperationWords = 3;

constexpr uint32_t Header(Kind kind, uint64_t rest = 0, int shift = kCountShift) {
  return static_cast<uint32_t>(kind) | static_cast<uint32_t>(rest << shift);
}

constexpr size_t EntryWords(Kind kind) { return kind == Kind::kDict ? 2 : 1; }

void PushWide(WordBuffer& words, uint64_t value) {
  words.PushBack(static_cast<uint32_t>(value));
  words.PushBack(static_cast<uint32_t>(value >> 32));
}

uint64_t WideAt(const WordBuffer& words, size_t at) { return words[at] | uint64_t{words[at + 1]} << 32; }

Form FormOf(uint32_t header) { return static_cast<Form>(header >> kFormShift & 3); }

}  // namespace

std::string_view TextPool::Copy(std::string_view text) {
  if (text.empty()) return {};
  char* const copy = chars_.Add(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

Document::Arena::Arena() {
  words.PushBack(Header(Kind::kNone));
  words.PushBack(Header(Kind::kBool, 0));
  words.PushBack(Header(Kind::kBool, 1));
  words.PushBack(Header(Kind::kTuple, 0));
}

Ref Document::Arena::AddWideInt(int64_t value) {
  const auto ref = static_cast<Ref>(words.size());
  words.PushBack(Header(Kind::kInt));
  PushWide(words, static_cast<uint64_t>(value));
  return ref;
}

Ref Document::Arena::AddFloat(double value) {
  const auto ref = static_cast<Ref>(words.size());
  words.PushBack(Header(Kind::kFloat));
  PushWide(words, std::bit_cast<uint64_t>(value));
  return ref;
}

Ref Document::Arena::AddText(Kind kind, std::string_view borrowed) {
  const auto ref = static_cast<Ref>(words.size());
  const bool is_long = borrowed.size() >= kLongText;
  words.PushBack(Header(kind, is_long ? kLongText : borrowed.size()));
  PushWide(words, reinterpret_cast<uintptr_t>(borrowed.data()));
  if (is_long) PushWide(words, borrowed.size());
  text_bytes += borrowed.size();
  return ref;
}

Ref Document::Arena::AddSequence(Kind kind, std::span<const Ref> children) {
  if (kind == Kind::kTuple && children.empty()) return kEmptyTupleRef;
  const size_t ref = words.Extend(1 + children.size());
  words[ref] = Header(kind, children.size());
  for (size_t i = 0; i < children.size(); ++i) words[ref + 1 + i] = children[i];
  return static_cast<Ref>(ref);
}

Ref Document::Arena::AddContainer(Kind kind) {
  const size_t ref = words.Extend(2);
  words[ref] = Header(kind);
  words[ref + 1] = 0;
  return static_cast<Ref>(ref);
}

Ref Document::Arena::AddGlobal(Ref module, Ref name, uint32_t position) {
  const size_t ref = words.Extend(4);
  words[ref] = Header(Kind::kGlobal);
  words[ref + 1] = position;
  words[ref + 2] = module;
  words[ref + 3] = name;
  all_globals.push_back(static_cast<Ref>(ref));
  return static_cast<Ref>(ref);
}

Ref Document::Arena::AddObject(Construct construct, Ref callable, Ref args, std::optional<Ref> kwargs,
                               uint32_t position) {
  const size_t ref = words.Extend(construct == Construct::kNewObjEx ? 5 : 4);
  words[ref] = Header(Kind::kObject, static_cast<uint64_t>(construct), kConstructShift);
  words[ref + 3] = position;
  SetCall(static_cast<Ref>(ref), callable, args, kwargs);
  return static_cast<Ref>(ref);
}

void Document::Arena::SetCall(Ref object, Ref callable, Ref args, std::optional<Ref> kwargs) {
  words[object + 1] = callable;
  words[object + 2] = args;
  if (ConstructOf(object) == Construct::kNewObjEx) words[object + 4] = kwargs.value_or(kNoneRef);
}

Ref Document::Arena::AddPersistentId(Ref id) {
  const size_t ref = words.Extend(2);
  words[ref] = Header(Kind::kPersistentId);
  words[ref + 1] = id;
  all_persistent_ids.push_back(static_cast<Ref>(ref));
  return static_cast<Ref>(ref);
}

bool Document::Arena::Append(Ref container, std::span<const Ref> entries) {
  const uint32_t header = words[container];
  const auto kind = static_cast<Kind>(header & kKindMask);
  const size_t width = EntryWords(kind);
  const uint64_t count = header >> kContainerCountShift;
  const uint64_t total = count + entries.size() / width;
  if (total > kMaxContainerCount || !HasRoom(2 * total * width)) return false;
  bool grown = (header & kGrown) != 0;
  size_t start = words[container + 1];
  if (count == 0) {
    start = items.Extend(entries.size());
  } else if (!grown && start + count * width == items.size()) {
    items.Extend(entries.size());  // nothing was added since: it grows where it is
  } else if (!grown || total > std::bit_ceil(count)) {
    const size_t moved = items.Extend(std::bit_ceil(total) * width);
    for (size_t i = 0; i < count * width; ++i) items[moved + i] = items[start + i];
    start = moved;
    grown = true;
  }
  for (size_t i = 0; i < entries.size(); ++i) items[start + count * width + i] = entries[i];
  words[container] = Header(kind, total, kContainerCountShift) | (grown ? kGrown : 0);
  words[container + 1] = static_cast<uint32_t>(start);
  return true;
}

// Gives the object a record with room for `capacity` operations, holding those that it has.
void Document::Arena::MoveOperations(Ref object, uint32_t capacity) {
  const size_t count = OperationCountOf(object);
  const size_t record = items.Extend(kRecordHeader + capacity * kOperationWords);
  items[record] = ArgsOf(object);
  items[record + 1] = static_cast<uint32_t>(count);
  items[record + 2] = capacity;
  const Form form = FormOf(words[object]);
  items[record + 3] = form == Form::kRecord ? items[words[object + 2] + 3] : form == Form::kStateOnly ? 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    const OperationRefs operation = OperationOf(object, i);
    const size_t at = record + kRecordHeader + i * kOperationWords;
    items[at] = static_cast<uint32_t>(operation.kind);
    items[at + 1] = operation.first;
    items[at + 2] = operation.second;
  }
  words[object] = (words[object] & ~(uint32_t{3} << kFormShift)) | static_cast<uint32_t>(Form::kRecord) << kFormShift;
  words[object + 2] = static_cast<uint32_t>(record);
}

bool Document::Arena::AddOperations(Ref object, OperationKind kind, std::span<const Ref> operands) {
  if (operands.empty()) return true;
  const Form form = FormOf(words[object]);
  if (kind == OperationKind::kState && form == Form::kPlain && words[object + 2] == kEmptyTupleRef) {
    words[object] |= static_cast<uint32_t>(Form::kStateOnly) << kFormShift;
    words[object + 2] = operands[0];
    return true;
  }
  const size_t width = kind == OperationKind::kSetItem ? 2 : 1;
  const size_t count = OperationCountOf(object);
  const size_t total = count + operands.size() / width;
  // A first batch is usually all, but for a state; later ones come one after the other.
  const size_t capacity = count == 0 ? total + (total > 1 ? 1 : 0) : total + total / 2;
  if (!HasRoom(kRecordHeader + capacity * kOperationWords)) return false;
  const bool fits = form == Form::kRecord && total <= items[words[object + 2] + 2];
  if (!fits) MoveOperations(object, static_cast<uint32_t>(capacity));
  const size_t record = words[object + 2];
  size_t at = record + kRecordHeader + count * kOperationWords;
  for (size_t i = 0; i < operands.size(); i += width, at += kOperationWords) {
    items[at] = static_cast<uint32_t>(kind);
    items[at + 1] = operands[i];
    items[at + 2] = width == 2 ? operands[i + 1] : kNoneRef;
  }
  items[record + 1] = static_cast<uint32_t>(total);
  if (kind == OperationKind::kState) items[record + 3] = static_cast<uint32_t>(total);
  if (kind == OperationKind::kSetItem) words[object] |= kHasSetItem;
  return true;
}

int64_t Document::Arena::IntOf(Ref ref) const {
  return IsInlineInt(ref) ? InlineIntValue(ref) : static_cast<int64_t>(WideAt(words, ref + 1));
}

double Document::Arena::FloatOf(Ref ref) const { return std::bit_cast<double>(WideAt(words, ref + 1)); }

std::string_view Document::Arena::TextOf(Ref ref) const {
  const uint32_t length = words[ref] >> kCountShift;
  const auto* const data = reinterpret_cast<const char*>(static_cast<uintptr_t>(WideAt(words, ref + 1)));
  return {data, length == kLongText ? static_cast<size_t>(WideAt(words, ref + 3)) : length};
}

std::span<const Ref> Document::Arena::ChildrenOf(Ref ref) const {
  const uint32_t header = words[ref];
  const auto kind = static_cast<Kind>(header & kKindMask);
  if (kind == Kind::kTuple || kind == Kind::kFrozenSet) return words.View(ref + 1, header >> kCountShift);
  const size_t count = header >> kContainerCountShift;
  return count == 0 ? std::span<const Ref>() : items.View(words[ref + 1], count * EntryWords(kind));
}

Construct Document::Arena::ConstructOf(Ref object) const {
  return static_cast<Construct>(words[object] >> kConstructShift & 3);
}

Ref Document::Arena::ArgsOf(Ref object) const {
  const uint32_t slot = words[object + 2];
  switch (FormOf(words[object])) {
    case Form::kPlain: return slot;
    case Form::kStateOnly: return kEmptyTupleRef;
    case Form::kRecord: break;
  }
  return items[slot];
}

std::optional<Ref> Document::Arena::KwargsOf(Ref object) const {
  if (ConstructOf(object) != Construct::kNewObjEx) return std::nullopt;
  return words[object + 4];
}

size_t Document::Arena::OperationCountOf(Ref object) const {
  switch (FormOf(words[object])) {
    case Form::kPlain: return 0;
    case Form::kStateOnly: return 1;
    case Form::kRecord: break;
  }
  return items[words[object + 2] + 1];
}

OperationRefs Document::Arena::OperationOf(Ref object, size_t i) const {
  const uint32_t slot = words[object + 2];
  if (FormOf(words[object]) == Form::kStateOnly) return {OperationKind::kState, slot, kNoneRef};
  const size_t at = slot + kRecordHeader + i * kOperationWords;
  return {static_cast<OperationKind>(items[at]), items[at + 1], items[at + 2]};
}

std::optional<Ref> Document::Arena::StateOf(Ref object) const {
  const uint32_t slot = words[object + 2];
  switch (FormOf(words[object])) {
    case Form::kPlain: return std::nullopt;
    case Form::kStateOnly: return slot;
    case Form::kRecord: break;
  }
  const uint32_t count = items[slot + 3];
  if (count == 0) return std::nullopt;
  return OperationOf(object, count - 1).first;
}

bool Document::Arena::HasSetItem(Ref object) const { return (words[object] & kHasSetItem) != 0; }

size_t Document::Arena::WordsOf(Ref ref) const {
  const uint32_t header = words[ref];
  switch (KindOf(ref)) {
    case Kind::kNone:
    case Kind::kBool: return 1;
    case Kind::kInt:
    case Kind::kFloat: return 3;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kByteArray:
    case Kind::kBigInt: return header >> kCountShift == kLongText ? 5 : 3;
    case Kind::kTuple:
    case Kind::kFrozenSet: return 1 + (header >> kCountShift);
    case Kind::kList:
    case Kind::kSet:
    case Kind::kDict:
    case Kind::kPersistentId: return 2;
    case Kind::kGlobal: return 4;
    case Kind::kObject: return ConstructOf(ref) == Construct::kNewObjEx ? 5 : 4;
  }
  return 1;
}

uint32_t Document::Arena::PositionOf(Ref ref) const {
  switch (KindOf(ref)) {
    case Kind::kGlobal: return words[ref + 1];
    case Kind::kObject: return words[ref + 3];
    default: return 0;
  }
}

}  // namespace dcpctl::pickle
