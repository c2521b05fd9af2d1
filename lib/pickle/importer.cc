#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <unordered_map>

#include "pickle/arena.h"

namespace dcpctl::pickle {
namespace {

struct Source {
  const Document* document;
  Ref ref;
  bool operator==(const Source&) const = default;
};

struct SourceHash {
  size_t operator()(const Source& source) const {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(source.document) ^ source.ref) * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 32;
  }
};

}  // namespace

// Nodes are made empty when they are first met and filled later from a list of what is left to do, so
// cycles need no special care and nothing recurses.
struct Document::Importer::Impl {
  struct Pending {
    Source source;
    Ref target;
    uint32_t depth;
  };

  Document& target;
  PersistentIdMapper persistent_id;
  uint32_t max_depth;
  std::unordered_map<Source, Ref, SourceHash> made;
  std::vector<Pending> pending;

  Document::Arena& arena() { return target.arena(); }

  Ref Make(Source source, uint32_t depth);
  Ref MakeText(Kind kind, std::string_view text);
  Ref MakeSequence(Kind kind, size_t count);
  Result<void> Fill(const Pending& work);
  void FillChildren(const Pending& work);
  void FillObject(const Pending& work);
  Result<void> FillPersistentId(const Pending& work);
  Result<void> FillPending(size_t until);
};

// The copy of `source`, which may still have to be filled.
Ref Document::Importer::Impl::Make(Source source, uint32_t depth) {
  if (IsInlineInt(source.ref) || source.ref <= kEmptyTupleRef) return source.ref;
  if (const auto found = made.find(source); found != made.end()) return found->second;
  const Document::Arena& from = source.document->arena();
  const Kind kind = from.KindOf(source.ref);
  Ref ref = kNoneRef;
  bool filled = true;
  if (!arena().HasRoom(8)) throw std::length_error("pickle document is full");
  switch (kind) {
    case Kind::kNone:
    case Kind::kBool: break;
    case Kind::kInt: ref = arena().AddInt(from.IntOf(source.ref)); break;
    case Kind::kFloat: ref = arena().AddFloat(from.FloatOf(source.ref)); break;
    case Kind::kString: ref = target.String(from.TextOf(source.ref)).identity(); break;
    case Kind::kBigInt:
    case Kind::kBytes:
    case Kind::kByteArray: ref = MakeText(kind, from.TextOf(source.ref)); break;
    case Kind::kGlobal: {
      const Value global = ValueAccess::Make(*source.document, source.ref);
      ref = target.Global(global.module(), global.name()).identity();
      break;
    }
    case Kind::kTuple:
    case Kind::kFrozenSet: filled = false, ref = MakeSequence(kind, from.ChildrenOf(source.ref).size()); break;
    case Kind::kList:
    case Kind::kSet:
    case Kind::kDict: filled = false, ref = arena().AddContainer(kind); break;
    case Kind::kObject:
      filled = false;
      ref = arena().AddObject(from.ConstructOf(source.ref), kNoneRef, kNoneRef, std::nullopt, 0);
      break;
    case Kind::kPersistentId: filled = false, ref = arena().AddPersistentId(kNoneRef); break;
  }
  made.emplace(source, ref);
  if (!filled) pending.push_back({source, ref, depth});
  return ref;
}

Ref Document::Importer::Impl::MakeText(Kind kind, std::string_view text) {
  return arena().AddText(kind, arena().text.Copy(text));
}

Ref Document::Importer::Impl::MakeSequence(Kind kind, size_t count) {
  if (!arena().HasRoom(count + 1)) throw std::length_error("pickle document is full");
  return arena().AddSequence(kind, std::vector<Ref>(count, kNoneRef));
}

Result<void> Document::Importer::Impl::Fill(const Pending& work) {
  if (work.depth > max_depth)
    return Fail(ErrorKind::kLimit, "values are nested deeper than " + std::to_string(max_depth));
  switch (arena().KindOf(work.target)) {
    case Kind::kObject: FillObject(work); break;
    case Kind::kPersistentId: return FillPersistentId(work);
    default: FillChildren(work); break;
  }
  return {};
}

void Document::Importer::Impl::FillChildren(const Pending& work) {
  const Kind kind = arena().KindOf(work.target);
  // A copy: the source may be the target itself, whose nodes move when there are more.
  const std::span<const Ref> view = work.source.document->arena().ChildrenOf(work.source.ref);
  std::vector<Ref> children(view.begin(), view.end());
  for (Ref& child : children) child = Make({work.source.document, child}, work.depth + 1);
  if (kind == Kind::kTuple || kind == Kind::kFrozenSet) {
    for (size_t i = 0; i < children.size(); ++i) arena().SetChild(work.target, i, children[i]);
  } else if (!children.empty() && !arena().Append(work.target, children)) {
    throw std::length_error("pickle document is full");
  }
}

void Document::Importer::Impl::FillObject(const Pending& work) {
  const Document::Arena& from = work.source.document->arena();
  const auto make = [&](Ref ref) { return Make({work.source.document, ref}, work.depth + 1); };
  const Ref callable = make(from.CallableOf(work.source.ref));
  const Ref args = make(from.ArgsOf(work.source.ref));
  std::optional<Ref> kwargs = from.KwargsOf(work.source.ref);
  if (kwargs) kwargs = make(*kwargs);
  arena().SetCall(work.target, callable, args, kwargs);
  for (size_t i = 0; i < from.OperationCountOf(work.source.ref); ++i) {
    const OperationRefs operation = from.OperationOf(work.source.ref, i);
    const bool is_pair = operation.kind == OperationKind::kSetItem;
    const std::array operands = {make(operation.first), is_pair ? make(operation.second) : kNoneRef};
    if (!arena().AddOperations(work.target, operation.kind, std::span(operands).first(is_pair ? 2 : 1))) {
      throw std::length_error("pickle document is full");
    }
  }
}

Result<void> Document::Importer::Impl::FillPersistentId(const Pending& work) {
  const Ref id = work.source.document->arena().PersistentIdOf(work.source.ref);
  if (!persistent_id) {
    arena().SetPersistentId(work.target, Make({work.source.document, id}, work.depth + 1));
    return {};
  }
  Result<Value> mapped = persistent_id(ValueAccess::Make(*work.source.document, id), target);
  if (!mapped) return Fail(std::move(mapped).error());
  arena().SetPersistentId(work.target, mapped->identity());
  return {};
}

// The mapper of persistent ids may import values itself, hence `until`.
Result<void> Document::Importer::Impl::FillPending(size_t until) {
  while (pending.size() > until) {
    const Pending work = pending.back();
    pending.pop_back();
    const size_t before = pending.size();
    if (Result<void> done = Fill(work); !done) {
      pending.resize(std::min(until, pending.size()));
      made.clear();  // some are not filled
      return done;
    }
    // The first child next, as Python walks: persistent ids are met in the order of the pickle.
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(before), pending.end());
  }
  return {};
}

Document::Importer::Importer(Document& target, PersistentIdMapper persistent_id, const Limits& limits)
    : impl_(new Impl{target, std::move(persistent_id), limits.pickle_depth, {}, {}}) {}
Document::Importer::~Importer() = default;

Result<Value> Document::Importer::Import(Value value) {
  const size_t until = impl_->pending.size();
  const Ref ref = impl_->Make({&ValueAccess::DocumentOf(value), value.identity()}, 1);
  if (Result<void> done = impl_->FillPending(until); !done) return dcpctl::Fail(std::move(done).error());
  return ValueAccess::Make(impl_->target, ref);
}

}  // namespace dcpctl::pickle
