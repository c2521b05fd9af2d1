// Opcodes that work on the stack, marks and memo, and make containers and objects of what is there.
#include "pickle/python_types.h"
#include "pickle/reader.h"

namespace dcpctl::pickle {

bool Reader::FailNeed(size_t count) {
  return Fail(ErrorKind::kCorrupt, "stack holds " + std::to_string(stack_.size() - floor()) + " values" +
                                       (marks_.empty() ? "" : " above its last mark") + ", expected " +
                                       std::to_string(count));
}

bool Reader::PushMark() {
  // A writer opens a mark for each container that it is inside of.
  if (marks_.size() >= options_.limits.pickle_depth) {
    return Fail(ErrorKind::kLimit, "values are nested deeper than " + std::to_string(options_.limits.pickle_depth));
  }
  marks_.push_back(stack_.size());
  return true;
}

bool Reader::PopMark(size_t& start) {
  if (marks_.empty()) return Fail(ErrorKind::kCorrupt, "stack has no mark, expected one");
  start = marks_.back();
  marks_.pop_back();
  return true;
}

// Also takes a mark away when that is on top, as CPython does.
bool Reader::Pop() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return true;
  }
  if (!Need(1)) return false;
  TakeTop();
  return true;
}

bool Reader::Dup() { return Need(1) && Push(stack_[stack_.size() - 1]); }

bool Reader::FailGet(uint64_t index) {
  return Fail(ErrorKind::kCorrupt, "memo entry " + std::to_string(index) + " is not there, expected one of " +
                                       std::to_string(memo_.count()) + " entries put before");
}

bool Reader::FailPut(uint64_t index) {
  return Fail(ErrorKind::kLimit, "memo indices are too scattered: the next one is " + std::to_string(index));
}

bool Reader::MakeSequence(Kind kind, size_t start) {
  const size_t count = stack_.size() - start;
  if (count > kMaxSequenceCount || !arena_.HasRoom(count + 1)) return FailFull();
  const Ref ref = arena_.AddSequence(kind, stack_.View(start, count));
  stack_.Truncate(start);
  return Push(ref);
}

bool Reader::MakeTopTuple(size_t count) { return Need(count) && MakeSequence(Kind::kTuple, stack_.size() - count); }

bool Reader::MakeMarkedSequence(Kind kind) {
  size_t start = 0;
  return PopMark(start) && MakeSequence(kind, start);
}

bool Reader::MakeMarkedContainer(Kind kind) {
  size_t start = 0;
  if (!PopMark(start)) return false;
  const size_t count = stack_.size() - start;
  if (kind == Kind::kDict && count % 2 != 0) {
    return Fail(ErrorKind::kCorrupt, std::to_string(count) + " values for a dict, expected keys and values in turn");
  }
  const Ref ref = arena_.AddContainer(kind);
  if (count > 0 && !arena_.Append(ref, stack_.View(start, count))) return FailFull();
  stack_.Truncate(start);
  return Push(ref);
}

bool Reader::MakeStackGlobal() {
  if (!Need(2)) return false;
  const Ref name = TakeTop();
  const Ref module = TakeTop();
  if (arena_.KindOf(module) != Kind::kString || arena_.KindOf(name) != Kind::kString) {
    return Fail(ErrorKind::kCorrupt, "global is named by " + std::string(KindName(arena_.KindOf(module))) + " and " +
                                         std::string(KindName(arena_.KindOf(name))) + ", expected str and str");
  }
  return Push(arena_.AddGlobal(module, name, position()));
}

bool Reader::MakeObject(Construct construct, Ref callable, Ref args, std::optional<Ref> kwargs) {
  const Kind kind = arena_.KindOf(callable);
  if (kind != Kind::kGlobal && kind != Kind::kObject && kind != Kind::kPersistentId) {
    return Fail(ErrorKind::kCorrupt, "call of " + std::string(KindName(kind)) + ", expected a global or an object");
  }
  if (arena_.KindOf(args) != Kind::kTuple) {
    return Fail(ErrorKind::kCorrupt,
                "arguments are " + std::string(KindName(arena_.KindOf(args))) + ", expected tuple");
  }
  if (kwargs && arena_.KindOf(*kwargs) != Kind::kDict) {
    return Fail(ErrorKind::kCorrupt,
                "keyword arguments are " + std::string(KindName(arena_.KindOf(*kwargs))) + ", expected dict");
  }
  return Push(arena_.AddObject(construct, callable, args, kwargs, position()));
}

bool Reader::Construction(Construct construct) {
  const bool has_kwargs = construct == Construct::kNewObjEx;
  if (!Need(has_kwargs ? 3 : 2)) return false;
  const std::optional<Ref> kwargs = has_kwargs ? std::optional<Ref>(TakeTop()) : std::nullopt;
  const Ref args = TakeTop();
  const Ref callable = TakeTop();
  return MakeObject(construct, callable, args, kwargs);
}

// The class is the first item above the mark, its arguments are the rest.
bool Reader::Obj() {
  size_t start = 0;
  if (!Need(1) || !PopMark(start)) return false;
  if (!MakeSequence(Kind::kTuple, start + 1)) return false;
  const Ref args = TakeTop();
  const Ref callable = TakeTop();
  return MakeObject(Construct::kReduce, callable, args, std::nullopt);
}

bool Reader::AddOne(Kind container, OperationKind operation) {
  const size_t operands = operation == OperationKind::kSetItem ? 2 : 1;
  return Need(operands + 1) && AddTo(stack_.size() - operands, container, operation);
}

bool Reader::AddMarked(Kind container, OperationKind operation) {
  size_t start = 0;
  if (!PopMark(start)) return false;
  if (start == floor()) return Fail(ErrorKind::kCorrupt, "stack holds nothing below the mark, expected a container");
  if (operation == OperationKind::kSetItem && (stack_.size() - start) % 2 != 0) {
    return Fail(ErrorKind::kCorrupt,
                std::to_string(stack_.size() - start) + " values to set, expected keys and values in turn");
  }
  return AddTo(start, container, operation);
}

bool Reader::AddTo(size_t start, Kind container, OperationKind operation) {
  const Ref target = stack_[start - 1];
  const std::span<const Ref> operands = stack_.View(start, stack_.size() - start);
  const Kind kind = arena_.KindOf(target);
  if (kind != container && kind != Kind::kObject) {
    const std::string expected =
        container == Kind::kObject ? "an object" : std::string(KindName(container)) + " or an object";
    return Fail(ErrorKind::kCorrupt, "target is " + std::string(KindName(kind)) + ", expected " + expected);
  }
  if (!operands.empty()) {
    const bool done =
        kind == Kind::kObject ? arena_.AddOperations(target, operation, operands) : arena_.Append(target, operands);
    if (!done) return FailFull();
  }
  stack_.Truncate(start);
  return true;
}

}  // namespace dcpctl::pickle
