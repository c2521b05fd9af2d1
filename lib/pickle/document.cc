#include <array>
#include <stdexcept>

#include "pickle/arena.h"
#include "pickle/big_int.h"

namespace dcpctl::pickle {
namespace {

constexpr size_t kLargestNode = 8;  // words of any node without children

// Misuse by the program, not by its input.
void Require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

Document::Arena& WithRoom(Document::Arena& arena, uint64_t words) {
  if (!arena.HasRoom(words)) throw std::length_error("pickle document is full");
  return arena;
}

std::vector<Ref> RefsOf(std::span<const Value> values) {
  std::vector<Ref> refs;
  refs.reserve(values.size());
  for (const Value value : values) refs.push_back(value.identity());
  return refs;
}

}  // namespace

Document::Document() : arena_(std::make_unique<Arena>()) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Value Document::root() const { return {this, arena_->root}; }
void Document::SetRoot(Value value) { arena_->root = value.ref_; }

Value Document::None() { return {this, kNoneRef}; }
Value Document::Bool(bool value) { return {this, value ? kTrueRef : kFalseRef}; }
Value Document::Int(int64_t value) { return {this, WithRoom(*arena_, kLargestNode).AddInt(value)}; }
Value Document::Float(double value) { return {this, WithRoom(*arena_, kLargestNode).AddFloat(value)}; }

Value Document::BigInt(std::string_view twos_complement_le) {
  if (const std::optional<int64_t> value = BigIntToInt64(twos_complement_le)) return Int(*value);
  const std::string_view text = arena_->text.Copy(TrimBigInt(twos_complement_le));
  return {this, WithRoom(*arena_, kLargestNode).AddText(Kind::kBigInt, text)};
}

Value Document::String(std::string_view utf8) {
  if (const auto known = arena_->strings.find(utf8); known != arena_->strings.end()) return {this, known->second};
  const std::string_view text = arena_->text.Copy(utf8);
  const Ref ref = WithRoom(*arena_, kLargestNode).AddText(Kind::kString, text);
  arena_->strings.emplace(text, ref);
  return {this, ref};
}

Value Document::Bytes(std::string_view bytes) {
  return {this, WithRoom(*arena_, kLargestNode).AddText(Kind::kBytes, arena_->text.Copy(bytes))};
}

Value Document::ByteArray(std::string_view bytes) {
  return {this, WithRoom(*arena_, kLargestNode).AddText(Kind::kByteArray, arena_->text.Copy(bytes))};
}

Value Document::Tuple(std::span<const Value> items) {
  Require(items.size() <= kMaxSequenceCount, "tuple is too long");
  return {this, WithRoom(*arena_, items.size() + 1).AddSequence(Kind::kTuple, RefsOf(items))};
}

Value Document::FrozenSet(std::span<const Value> items) {
  Require(items.size() <= kMaxSequenceCount, "frozenset is too large");
  return {this, WithRoom(*arena_, items.size() + 1).AddSequence(Kind::kFrozenSet, RefsOf(items))};
}

Value Document::List() { return {this, WithRoom(*arena_, kLargestNode).AddContainer(Kind::kList)}; }
Value Document::Dict() { return {this, WithRoom(*arena_, kLargestNode).AddContainer(Kind::kDict)}; }
Value Document::Set() { return {this, WithRoom(*arena_, kLargestNode).AddContainer(Kind::kSet)}; }

Value Document::Global(std::string_view module, std::string_view name) {
  const Ref module_ref = String(module).ref_;
  const Ref name_ref = String(name).ref_;
  const auto [known, inserted] = arena_->globals.try_emplace(uint64_t{module_ref} << 32 | name_ref, kNoneRef);
  if (inserted) known->second = WithRoom(*arena_, kLargestNode).AddGlobal(module_ref, name_ref, 0);
  return {this, known->second};
}

Value Document::Object(Construct construct, Value callable, Value args, std::optional<Value> kwargs) {
  Require(kwargs.has_value() == (construct == Construct::kNewObjEx), "keyword arguments go with kNewObjEx");
  const std::optional<Ref> kwargs_ref = kwargs ? std::optional<Ref>(kwargs->ref_) : std::nullopt;
  return {this, WithRoom(*arena_, kLargestNode).AddObject(construct, callable.ref_, args.ref_, kwargs_ref, 0)};
}

Value Document::PersistentId(Value id) { return {this, WithRoom(*arena_, kLargestNode).AddPersistentId(id.ref_)}; }

void Document::Append(Value list_or_object, Value item) {
  const std::array refs = {item.ref_};
  const bool is_object = list_or_object.Is(Kind::kObject);
  Require(is_object || list_or_object.Is(Kind::kList), "append to neither list nor object");
  const bool done = is_object ? arena_->AddOperations(list_or_object.ref_, OperationKind::kAppend, refs)
                              : arena_->Append(list_or_object.ref_, refs);
  if (!done) throw std::length_error("pickle document is full");
}

void Document::Add(Value set_or_object, Value item) {
  const std::array refs = {item.ref_};
  const bool is_object = set_or_object.Is(Kind::kObject);
  Require(is_object || set_or_object.Is(Kind::kSet), "add to neither set nor object");
  const bool done = is_object ? arena_->AddOperations(set_or_object.ref_, OperationKind::kAddItem, refs)
                              : arena_->Append(set_or_object.ref_, refs);
  if (!done) throw std::length_error("pickle document is full");
}

void Document::SetItem(Value dict_or_object, Value key, Value item) {
  const std::array refs = {key.ref_, item.ref_};
  const bool is_object = dict_or_object.Is(Kind::kObject);
  Require(is_object || dict_or_object.Is(Kind::kDict), "set item of neither dict nor object");
  const bool done = is_object ? arena_->AddOperations(dict_or_object.ref_, OperationKind::kSetItem, refs)
                              : arena_->Append(dict_or_object.ref_, refs);
  if (!done) throw std::length_error("pickle document is full");
}

void Document::SetState(Value object, Value state) {
  const std::array refs = {state.ref_};
  Require(object.Is(Kind::kObject), "set state of no object");
  if (!arena_->AddOperations(object.ref_, OperationKind::kState, refs)) {
    throw std::length_error("pickle document is full");
  }
}

std::vector<Value> Document::Globals() const {
  std::vector<Value> globals;
  for (const Ref ref : arena_->all_globals) globals.push_back(Value(this, ref));
  return globals;
}

size_t Document::memory_bytes() const {
  return arena_->words.capacity_bytes() + arena_->items.capacity_bytes() + arena_->text.memory_bytes();
}

size_t Document::content_bytes() const {
  return (arena_->words.size() + arena_->items.size()) * sizeof(Ref) + arena_->text_bytes;
}

void Document::KeepAlive(std::shared_ptr<const void> owner) { arena_->owners.push_back(std::move(owner)); }

}  // namespace dcpctl::pickle
