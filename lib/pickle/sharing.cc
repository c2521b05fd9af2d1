#include "pickle/sharing.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "pickle/python_types.h"

namespace dcpctl::pickle {
namespace {

// Visits values in the order in which the writer will, without recursion.
class Search {
 public:
  Search(const Document::Arena& arena, int protocol)
      : arena_(arena),
        protocol_(protocol),
        seen_(arena.words.size()),
        shared_(arena.words.size()),
        open_(arena.words.size()) {}

  Sharing Run(Ref root) {
    Push(root);
    while (!pending_.empty()) {
      const uint32_t next = pending_.back();
      pending_.pop_back();
      if ((next & kClose) != 0) {
        open_.Remove(next & ~kClose);
      } else {
        Visit(next);
      }
    }
    return {RefIndex(std::move(is_recursive_ ? seen_ : shared_)), is_recursive_, uses_};
  }

 private:
  static constexpr uint32_t kClose = uint32_t{1}
                                     << 31;  // on a Ref in `pending_`: the value can be in the memo from here on

  void Push(Ref ref) {
    if (IsInlineInt(ref) || ref <= kEmptyTupleRef) return;
    const Kind kind = arena_.KindOf(ref);
    if (kind != Kind::kInt && kind != Kind::kFloat && kind != Kind::kBigInt)
      pending_.push_back(ref);  // those are never in the memo
  }

  void Visit(Ref ref) {
    if (!seen_.Insert(ref)) {
      shared_.Insert(ref);
      is_recursive_ = is_recursive_ || open_.Contains(ref);
      return;
    }
    CountHelpers(ref);
    switch (arena_.KindOf(ref)) {
      case Kind::kSet:
        if (protocol_ < 4) Open(ref);
        return PushAll(arena_.ChildrenOf(ref));
      case Kind::kTuple:
      case Kind::kFrozenSet: Open(ref); return PushAll(arena_.ChildrenOf(ref));
      case Kind::kList:
      case Kind::kDict: return PushAll(arena_.ChildrenOf(ref));
      case Kind::kObject: return PushObject(ref);
      case Kind::kPersistentId: Open(ref); return Push(arena_.PersistentIdOf(ref));
      case Kind::kGlobal: return PushGlobal(ref);
      default: return;
    }
  }

  // What is pushed from here on has to be written before the value itself is made.
  void Open(Ref ref) {
    open_.Insert(ref);
    pending_.push_back(ref | kClose);
  }

  void PushAll(std::span<const Ref> refs) {
    for (size_t i = refs.size(); i-- > 0;) Push(refs[i]);
  }

  void PushObject(Ref ref) {
    for (size_t i = arena_.OperationCountOf(ref); i-- > 0;) {
      const OperationRefs operation = arena_.OperationOf(ref, i);
      Push(operation.second);
      Push(operation.first);
    }
    Open(ref);
    if (const std::optional<Ref> kwargs = arena_.KwargsOf(ref)) Push(*kwargs);
    Push(arena_.ArgsOf(ref));
    Push(arena_.CallableOf(ref));
  }

  // The writer uses no node for a name that it spells otherwise, and none at all before protocol 4, where names are
  // part of the opcode.
  void PushGlobal(Ref ref) {
    if (protocol_ < 4) return;
    const GlobalName name = {arena_.TextOf(arena_.ModuleOf(ref)), arena_.TextOf(arena_.NameOf(ref))};
    const GlobalName written = NewSpelling(name);
    if (written.name == name.name) Push(arena_.NameOf(ref));
    if (written.module == name.module) Push(arena_.ModuleOf(ref));
  }

  void Use(Helper helper, size_t times = 1) { uses_[static_cast<size_t>(helper)] += static_cast<uint32_t>(times); }

  void CountHelpers(Ref ref) {
    const Kind kind = arena_.KindOf(ref);
    if (kind == Kind::kByteArray) Use(Helper::kByteArray);
    if (protocol_ >= 4) return;
    if (kind == Kind::kBytes || (kind == Kind::kByteArray && !arena_.TextOf(ref).empty())) {
      Use(Helper::kEncode);
      Use(Helper::kLatin1);
    }
    if (kind == Kind::kSet) Use(Helper::kSet);
    if (kind == Kind::kFrozenSet) Use(Helper::kFrozenSet);
    if (kind == Kind::kGlobal) {
      const std::string_view name = arena_.TextOf(arena_.NameOf(ref));
      // A dot in front parts nothing.
      const size_t parts = name.empty() ? 0 : static_cast<size_t>(std::ranges::count(name.substr(1), '.'));
      Use(Helper::kGetAttr, parts);
    }
    if (kind == Kind::kObject && arena_.ConstructOf(ref) == Construct::kNewObjEx) Use(Helper::kNewObjEx);
  }

  const Document::Arena& arena_;
  int protocol_;
  RefSet seen_;
  RefSet shared_;
  RefSet open_;
  bool is_recursive_ = false;
  std::array<uint32_t, kHelperCount> uses_{};
  std::vector<uint32_t> pending_;
};

}  // namespace

RefIndex::RefIndex(RefSet set) : set_(std::move(set)) {
  before_.reserve(set_.bits_.size());
  for (const uint64_t bits : set_.bits_) {
    before_.push_back(size_);
    size_ += static_cast<uint32_t>(std::popcount(bits));
  }
}

uint32_t RefIndex::operator[](Ref ref) const {
  const uint64_t below = (uint64_t{1} << (ref % 64)) - 1;
  return before_[ref / 64] + static_cast<uint32_t>(std::popcount(set_.bits_[ref / 64] & below));
}

Sharing FindSharing(const Document::Arena& arena, Ref root, int protocol) { return Search(arena, protocol).Run(root); }

}  // namespace dcpctl::pickle
