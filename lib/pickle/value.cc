#include <algorithm>
#include <stdexcept>

#include "pickle/arena.h"
#include "pickle/python_types.h"

namespace dcpctl::pickle {
namespace {

// Asking a value for what its kind has not is a bug of the caller. Always checked: the answer would be
// read from somewhere else in memory, and the kinds are those of an untrusted input.
void Expect(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

bool IsText(Kind kind) {
  return kind == Kind::kString || kind == Kind::kBytes || kind == Kind::kByteArray || kind == Kind::kBigInt;
}

bool IsSequence(Kind kind) {
  return kind == Kind::kTuple || kind == Kind::kList || kind == Kind::kSet || kind == Kind::kFrozenSet;
}

}  // namespace

Kind Value::kind() const { return document_->arena().KindOf(ref_); }

bool Value::AsBool() const {
  Expect(Is(Kind::kBool), "pickle value is not a bool");
  return ref_ == kTrueRef;
}

int64_t Value::AsInt() const {
  Expect(Is(Kind::kInt), "pickle value is not an int");
  return document_->arena().IntOf(ref_);
}

double Value::AsFloat() const {
  Expect(Is(Kind::kFloat), "pickle value is not a float");
  return document_->arena().FloatOf(ref_);
}

std::string_view Value::AsText() const {
  Expect(IsText(kind()), "pickle value has no text");
  return document_->arena().TextOf(ref_);
}

size_t Value::size() const {
  Expect(Is(Kind::kDict) || IsSequence(kind()), "pickle value has no items");
  const size_t children = document_->arena().ChildrenOf(ref_).size();
  return Is(Kind::kDict) ? children / 2 : children;
}

Value Value::operator[](size_t i) const {
  Expect(IsSequence(kind()) && i < size(), "pickle value has no such item");
  return {document_, document_->arena().ChildrenOf(ref_)[i]};
}

Value Value::key(size_t i) const {
  Expect(Is(Kind::kDict) && i < size(), "pickle dict has no such entry");
  return {document_, document_->arena().ChildrenOf(ref_)[2 * i]};
}

Value Value::value(size_t i) const {
  Expect(Is(Kind::kDict) && i < size(), "pickle dict has no such entry");
  return {document_, document_->arena().ChildrenOf(ref_)[2 * i + 1]};
}

bool Value::AppendCounts(std::vector<uint64_t>& out) const {
  if (!Is(Kind::kTuple) && !Is(Kind::kList)) return false;
  const Document::Arena& arena = document_->arena();
  const std::span<const Ref> children = arena.ChildrenOf(ref_);
  const size_t before = out.size();
  for (const Ref child : children) {
    const int64_t number = arena.KindOf(child) == Kind::kInt ? arena.IntOf(child) : -1;
    if (number < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<uint64_t>(number));
  }
  return true;
}

std::optional<Value> Value::Find(std::string_view key) const {
  Expect(Is(Kind::kDict), "pickle value is not a dict");
  const Document::Arena& arena = document_->arena();
  const std::span<const Ref> children = arena.ChildrenOf(ref_);
  for (size_t i = children.size(); i >= 2; i -= 2) {
    const Ref candidate = children[i - 2];
    if (arena.KindOf(candidate) != Kind::kString || arena.TextOf(candidate) != key) continue;
    return Value(document_, children[i - 1]);
  }
  return std::nullopt;
}

std::string_view Value::module() const {
  Expect(Is(Kind::kGlobal), "pickle value is not a global");
  return document_->arena().TextOf(document_->arena().ModuleOf(ref_));
}

std::string_view Value::name() const {
  Expect(Is(Kind::kGlobal), "pickle value is not a global");
  return document_->arena().TextOf(document_->arena().NameOf(ref_));
}

bool Value::IsGlobal(std::string_view module, std::string_view name) const {
  if (!Is(Kind::kGlobal)) return false;
  const GlobalName found = NewSpelling({this->module(), this->name()});
  return found == NewSpelling({module, name});
}

Construct Value::construct() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  return document_->arena().ConstructOf(ref_);
}

Value Value::callable() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  return {document_, document_->arena().CallableOf(ref_)};
}

Value Value::args() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  return {document_, document_->arena().ArgsOf(ref_)};
}

std::optional<Value> Value::kwargs() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  const std::optional<Ref> ref = document_->arena().KwargsOf(ref_);
  if (!ref) return std::nullopt;
  return Value(document_, *ref);
}

size_t Value::operation_count() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  return document_->arena().OperationCountOf(ref_);
}

Operation Value::operation(size_t i) const {
  Expect(i < operation_count(), "pickle object has no such operation");
  const OperationRefs refs = document_->arena().OperationOf(ref_, i);
  Operation operation{refs.kind, Value(document_, refs.first), std::nullopt};
  if (refs.kind == OperationKind::kSetItem) operation.second = Value(document_, refs.second);
  return operation;
}

std::optional<Value> Value::state() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  const std::optional<Ref> ref = document_->arena().StateOf(ref_);
  if (!ref) return std::nullopt;
  return Value(document_, *ref);
}

bool Value::has_set_item() const {
  Expect(Is(Kind::kObject), "pickle value is not an object");
  return document_->arena().HasSetItem(ref_);
}

std::optional<Value> Value::OnlyArgumentOf(std::string_view name) const {
  if (!Is(Kind::kObject)) return std::nullopt;
  const Document::Arena& arena = document_->arena();
  const Ref callable = arena.CallableOf(ref_);
  const Ref args = arena.ArgsOf(ref_);
  if (arena.KindOf(callable) != Kind::kGlobal || arena.KindOf(args) != Kind::kTuple) return std::nullopt;
  const std::span<const Ref> children = arena.ChildrenOf(args);
  if (children.size() != 1 || arena.TextOf(arena.NameOf(callable)) != name) return std::nullopt;
  return Value(document_, children[0]);
}

bool Value::ReadFields(std::span<Field> fields) const {
  if (!Is(Kind::kObject)) return false;
  const std::optional<Value> attributes = state();
  if (!attributes || !attributes->Is(Kind::kDict)) return false;
  const Document::Arena& arena = document_->arena();
  const std::span<const Ref> children = arena.ChildrenOf(attributes->ref_);
  for (size_t i = 0; i + 1 < children.size(); i += 2) {
    if (arena.KindOf(children[i]) != Kind::kString) continue;
    const std::string_view name = arena.TextOf(children[i]);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    if (field == fields.end()) continue;
    field->value.reset();  // of equal keys the last counts
    if (children[i + 1] != kNoneRef) field->value = Value(document_, children[i + 1]);
  }
  return true;
}

bool Value::IsCallOf(std::string_view module, std::string_view name) const {
  return Is(Kind::kObject) && callable().IsGlobal(module, name);
}

Value Value::persistent_id() const {
  Expect(Is(Kind::kPersistentId), "pickle value is not a persistent id");
  return {document_, document_->arena().PersistentIdOf(ref_)};
}

uint64_t Value::offset() const {
  const Document::Arena& arena = document_->arena();
  const uint32_t position = arena.PositionOf(ref_);
  return position == 0 ? 0 : arena.base_offset + position - 1;
}

}  // namespace dcpctl::pickle
