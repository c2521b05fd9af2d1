#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/quote.h"
#include "pickle/arena.h"
#include "pickle/emitter.h"
#include "pickle/python_types.h"
#include "pickle/sharing.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

// However high the limit is set: a level takes up to 3 KiB of the machine's stack in a build with sanitizers. What is
// not needed for plain containers is kept out of line, so that its locals do not add to each level.
constexpr uint32_t kMaxRecursion = 2000;
constexpr uint32_t kNotInMemo = UINT32_MAX;

struct HelperText {
  Helper helper;
  GlobalName global;
};
constexpr std::array kHelperTexts = {
    HelperText{Helper::kEncode, {"_codecs", "encode"}},          HelperText{Helper::kLatin1, {"", "latin1"}},
    HelperText{Helper::kByteArray, {"builtins", "bytearray"}},   HelperText{Helper::kSet, {"builtins", "set"}},
    HelperText{Helper::kFrozenSet, {"builtins", "frozenset"}},   HelperText{Helper::kGetAttr, {"builtins", "getattr"}},
    HelperText{Helper::kNewObjEx, {"copyreg", "__newobj_ex__"}},
};
static_assert(kHelperTexts.size() == kHelperCount);

bool IsLine(std::string_view text) {
  return text.find('\n') == std::string_view::npos && IsUtf8(text, Surrogates::kReject);
}

class Writer {
 public:
  Writer(const Document::Arena& arena, Ref root, const WriteOptions& options)
      : arena_(arena),
        protocol_(options.protocol),
        max_bytes_(options.limits.pickle_bytes),
        max_depth_(std::min(options.limits.pickle_depth, kMaxRecursion)),
        sharing_(FindSharing(arena, root, options.protocol)),
        memo_(sharing_.shared.size(), kNotInMemo),
        emit_(options.protocol) {
    helper_memo_.fill(kNotInMemo);
  }

  Result<std::string> Run(Ref root) {
    Write(root);
    emit_.Opcode(Op::kStop);
    CheckSize();
    if (error_) return dcpctl::Fail(std::move(*error_));
    return std::move(emit_).Take();
  }

 private:
  // All that return bool return false after a failure is stored.
  bool Fail(ErrorKind kind, std::string message) {
    if (!error_) error_ = Error(kind, std::move(message));
    return false;
  }

  bool FailDepth() { return Fail(ErrorKind::kLimit, "values are nested deeper than " + std::to_string(max_depth_)); }

  // For what is written as a call: a reader finds what the call is given that many levels deeper. Counted here, so that
  // all that can be written can be written again when it has been read.
  template <typename Function>
  bool Deeper(uint32_t levels, const Function& write) {
    if (max_depth_ - depth_ < levels) return FailDepth();
    depth_ += levels;
    const bool done = write();
    depth_ -= levels;
    return done;
  }

  bool CheckSize() {
    if (emit_.size() <= max_bytes_) return true;
    return Fail(ErrorKind::kLimit, "pickle would have more than " + std::to_string(max_bytes_) + " bytes");
  }

  bool Write(Ref ref) {
    if (GetIfKnown(ref)) return true;
    if (depth_ >= max_depth_) return FailDepth();
    ++depth_;
    const bool done = WriteNew(ref) && CheckSize();
    --depth_;
    return done;
  }

  bool WriteNew(Ref ref) {
    switch (arena_.KindOf(ref)) {
      case Kind::kNone: return Simple(Op::kNone);
      case Kind::kBool: return Simple(ref == kTrueRef ? Op::kNewTrue : Op::kNewFalse);
      case Kind::kInt: return emit_.Int(arena_.IntOf(ref)), true;
      case Kind::kBigInt: return emit_.BigInt(arena_.TextOf(ref)), true;
      case Kind::kFloat: return emit_.Float(arena_.FloatOf(ref)), true;
      case Kind::kString: return String(arena_.TextOf(ref)) && Put(ref);
      case Kind::kBytes: return Bytes(arena_.TextOf(ref)) && Put(ref);
      case Kind::kByteArray: return ByteArray(ref);
      case Kind::kTuple: return Tuple(ref);
      case Kind::kList: return Simple(Op::kEmptyList) && Put(ref) && Items(ref, Op::kAppend, Op::kAppends);
      case Kind::kSet: return Set(ref);
      case Kind::kFrozenSet: return FrozenSet(ref);
      case Kind::kDict: return Dict(ref);
      case Kind::kGlobal: return Global(ref);
      case Kind::kObject: return Object(ref);
      case Kind::kPersistentId: return Write(arena_.PersistentIdOf(ref)) && Simple(Op::kBinPersId) && PutOrGet(ref);
    }
    return false;
  }

  bool Simple(Op op) { return emit_.Opcode(op), true; }

  // Memo. Whether the value was written before; if so, it is fetched.
  bool GetIfKnown(Ref ref) {
    if (IsInlineInt(ref) || !sharing_.shared.Contains(ref)) return false;
    const uint32_t index = memo_[sharing_.shared[ref]];
    if (index == kNotInMemo) return false;
    emit_.Get(index);
    return true;
  }
  bool Put(Ref ref) {
    if (!sharing_.shared.Contains(ref)) return true;
    memo_[sharing_.shared[ref]] = next_index_;
    emit_.Put(next_index_++);
    return true;
  }
  // For values that are made after what they hold: when that led back here, the value is in the memo by
  // now, and the one just made is thrown away for it.
  bool IsKnown(Ref ref) const { return sharing_.shared.Contains(ref) && memo_[sharing_.shared[ref]] != kNotInMemo; }
  bool PutOrGet(Ref ref) {
    if (!IsKnown(ref)) return Put(ref);
    return Simple(Op::kPop) && GetIfKnown(ref);
  }

  bool String(std::string_view utf8) {
    if (protocol_ < 4 && utf8.size() > UINT32_MAX) {
      return Fail(ErrorKind::kUnsupported,
                  "text has " + std::to_string(utf8.size()) + " bytes, protocol 2 has room for 2^32");
    }
    return emit_.String(utf8), true;
  }

  bool Use(Helper helper) {
    const auto at = static_cast<size_t>(helper);
    if (helper_memo_[at] != kNotInMemo) return emit_.Get(helper_memo_[at]), true;
    const GlobalName global = kHelperTexts[at].global;
    if (global.module.empty()) {
      String(global.name);
    } else {
      GlobalText(global);
    }
    if (sharing_.helper_uses[at] < 2) return true;
    helper_memo_[at] = next_index_;
    emit_.Put(next_index_++);
    return true;
  }

  bool Bytes(std::string_view bytes) {
    if (protocol_ >= 4) return emit_.Bytes(bytes), true;
    // Also when empty: CPython then calls `bytes`, which PyTorch's weights-only loader does not know.
    std::string utf8;
    utf8.reserve(bytes.size() * 2);
    for (const char byte : bytes) AppendUtf8(utf8, static_cast<unsigned char>(byte));
    return Deeper(2, [&] { return Use(Helper::kEncode) && String(utf8) && Use(Helper::kLatin1); }) &&
           Simple(Op::kTuple2) && Simple(Op::kReduce);
  }

  bool ByteArray(Ref ref) {
    const std::string_view bytes = arena_.TextOf(ref);
    const auto args = [&] { return bytes.empty() ? Simple(Op::kEmptyTuple) : Bytes(bytes) && Simple(Op::kTuple1); };
    return Use(Helper::kByteArray) && Deeper(2, args) && Simple(Op::kReduce) && Put(ref);
  }

  template <typename WriteEntry>
  bool Batches(size_t count, Op one, Op many, const WriteEntry& write_entry) {
    return WriteBatches(
        count, one, many, [this](Op op) { emit_.Opcode(op); }, write_entry);
  }

  bool Items(Ref ref, Op one, Op many) {
    const std::span<const Ref> items = arena_.ChildrenOf(ref);
    return Batches(items.size(), one, many, [&](size_t i) { return Write(items[i]); });
  }

  bool Dict(Ref ref) {
    emit_.Opcode(Op::kEmptyDict);
    Put(ref);
    const std::span<const Ref> items = arena_.ChildrenOf(ref);
    const auto write_pair = [&](size_t i) { return Write(items[2 * i]) && Write(items[2 * i + 1]); };
    return Batches(items.size() / 2, Op::kSetItem, Op::kSetItems, write_pair);
  }

  bool Tuple(Ref ref) {
    const std::span<const Ref> items = arena_.ChildrenOf(ref);
    const bool marked = items.size() >= kShortTuples.size();
    if (marked) emit_.Opcode(Op::kMark);
    for (const Ref item : items) {
      if (!Write(item)) return false;
    }
    if (ref == kEmptyTupleRef || !IsKnown(ref)) {
      emit_.Opcode(marked ? Op::kTuple : kShortTuples[items.size()]);
      return ref == kEmptyTupleRef || Put(ref);
    }
    for (size_t i = 0; i < (marked ? 1 : items.size()); ++i) emit_.Opcode(marked ? Op::kPopMark : Op::kPop);
    return GetIfKnown(ref);
  }

  // Protocol 2: a call with a list of the items.
  [[gnu::noinline]] bool SetCall(Helper helper, Ref ref) {
    const auto list = [&] { return Simple(Op::kEmptyList) && Items(ref, Op::kAppend, Op::kAppends); };
    return Use(helper) && Deeper(2, list) && Simple(Op::kTuple1) && Simple(Op::kReduce) && PutOrGet(ref);
  }

  bool Set(Ref ref) {
    if (protocol_ < 4) return SetCall(Helper::kSet, ref);
    return Simple(Op::kEmptySet) && Put(ref) && Items(ref, Op::kAddItems, Op::kAddItems);
  }

  bool FrozenSet(Ref ref) {
    if (protocol_ < 4) return SetCall(Helper::kFrozenSet, ref);
    emit_.Opcode(Op::kMark);
    for (const Ref item : arena_.ChildrenOf(ref)) {
      if (!Write(item)) return false;
    }
    return Simple(Op::kFrozenSet) && PutOrGet(ref);
  }

  bool Global(Ref ref) {
    const GlobalName name = {arena_.TextOf(arena_.ModuleOf(ref)), arena_.TextOf(arena_.NameOf(ref))};
    if (name.module.empty() || name.name.empty()) return Fail(ErrorKind::kUnsupported, "global has no name");
    if (protocol_ < 4) return GlobalText(name) && Put(ref);
    const GlobalName new_name = NewSpelling(name);
    return GlobalPart(arena_.ModuleOf(ref), new_name.module) && GlobalPart(arena_.NameOf(ref), new_name.name) &&
           Simple(Op::kStackGlobal) && Put(ref);
  }

  bool GlobalPart(Ref ref, std::string_view spelling) {
    return arena_.TextOf(ref) == spelling ? Write(ref) : String(spelling);
  }

  // Without use of nodes. Dotted names came with protocol 4; before, an attribute is got by a call.
  bool GlobalText(GlobalName global) {
    if (protocol_ >= 4) return String(global.module) && String(global.name) && Simple(Op::kStackGlobal);
    const size_t dot = global.name.rfind('.');
    if (dot != std::string_view::npos && dot > 0) {
      const auto args = [&] {
        return GlobalText({global.module, global.name.substr(0, dot)}) && String(global.name.substr(dot + 1));
      };
      return Use(Helper::kGetAttr) && Deeper(2, args) && Simple(Op::kTuple2) && Simple(Op::kReduce);
    }
    if (!IsLine(global.module) || !IsLine(global.name)) {
      return Fail(ErrorKind::kUnsupported,
                  "global " + Quote(global.name) + " of module " + Quote(global.module) +
                      " has a newline or surrogate in its name, which protocol 2 cannot write");
    }
    const GlobalName old = OldSpelling(global);
    emit_.Opcode(Op::kGlobal);
    emit_.Line(old.module);
    emit_.Line(old.name);
    return true;
  }

  // An object that is begun again inside of its own arguments. Pickle makes such an object's arguments anew each
  // time, as in set([member, 5]) with a member that knows the set: the inner call must not get the outer list,
  // which is not whole yet. Ends where a round has put nothing new in the memo.
  [[gnu::noinline]] bool Args(Ref ref) {
    const Ref args = arena_.ArgsOf(ref);
    if (!sharing_.is_recursive || arena_.KindOf(args) != Kind::kTuple) return Write(args);
    const auto [at, is_first] = begun_.try_emplace(ref, next_index_);
    const uint32_t before = std::exchange(at->second, next_index_);
    if (is_first || before == next_index_) {
      const bool done = Write(args);
      if (is_first) begun_.erase(ref);
      return done;
    }
    const bool done = NewArgs(args);
    begun_[ref] = before;
    return done;
  }

  [[gnu::noinline]] bool NewArgs(Ref ref) {
    const std::span<const Ref> items = arena_.ChildrenOf(ref);
    const bool marked = items.size() >= kShortTuples.size();
    if (marked) emit_.Opcode(Op::kMark);
    for (const Ref item : items) {
      const bool is_list = !IsInlineInt(item) && arena_.KindOf(item) == Kind::kList;
      if (!(is_list ? Simple(Op::kEmptyList) && Items(item, Op::kAppend, Op::kAppends) : Write(item))) return false;
    }
    return Simple(marked ? Op::kTuple : kShortTuples[items.size()]);
  }

  [[gnu::noinline]] bool Call(Ref ref) {
    const Construct construct = arena_.ConstructOf(ref);
    const std::optional<Ref> kwargs = arena_.KwargsOf(ref);
    const bool by_helper = construct == Construct::kNewObjEx && protocol_ < 4;
    const auto parts = [&] { return Write(arena_.CallableOf(ref)) && Args(ref) && (!kwargs || Write(*kwargs)); };
    if (by_helper) {
      return Use(Helper::kNewObjEx) && Deeper(1, parts) && Simple(Op::kTuple3) && Simple(Op::kReduce);
    }
    if (!parts()) return false;
    switch (construct) {
      case Construct::kReduce: return Simple(Op::kReduce);
      case Construct::kNewObj: return Simple(Op::kNewObj);
      case Construct::kNewObjEx: return Simple(Op::kNewObjEx);
    }
    return false;
  }

  [[gnu::noinline]] bool Object(Ref ref) {
    if (!Call(ref)) return false;
    if (IsKnown(ref)) return PutOrGet(ref);  // its operations are written too
    Put(ref);
    const size_t count = arena_.OperationCountOf(ref);
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
      const OperationKind kind = arena_.OperationOf(ref, begin).kind;
      while (end < count && arena_.OperationOf(ref, end).kind == kind) ++end;
      if (!Operations(ref, kind, begin, end)) return false;
    }
    return true;
  }

  bool Operations(Ref ref, OperationKind kind, size_t begin, size_t end) {
    const auto write_one = [&](size_t i) { return Write(arena_.OperationOf(ref, begin + i).first); };
    const auto write_pair = [&](size_t i) {
      const OperationRefs operation = arena_.OperationOf(ref, begin + i);
      return Write(operation.first) && Write(operation.second);
    };
    switch (kind) {
      case OperationKind::kAppend: return Batches(end - begin, Op::kAppend, Op::kAppends, write_one);
      case OperationKind::kAddItem: return Batches(end - begin, Op::kAddItems, Op::kAddItems, write_one);
      case OperationKind::kSetItem: return Batches(end - begin, Op::kSetItem, Op::kSetItems, write_pair);
      case OperationKind::kState: break;
    }
    for (size_t i = 0; i < end - begin; ++i) {
      if (!write_one(i) || !Simple(Op::kBuild)) return false;
    }
    return true;
  }

  const Document::Arena& arena_;
  int protocol_;
  uint64_t max_bytes_;
  uint32_t max_depth_;
  Sharing sharing_;
  std::vector<uint32_t> memo_;  // by number in sharing_.shared
  std::array<uint32_t, kHelperCount> helper_memo_{};
  std::unordered_map<Ref, uint32_t> begun_;  // objects whose arguments are being written -> next_index_ then
  uint32_t next_index_ = 0;
  uint32_t depth_ = 0;
  Emitter emit_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> WritePickle(Value root, const WriteOptions& options) {
  if (options.protocol != 2 && options.protocol != 4) {
    return Fail(ErrorKind::kUsage, "pickle protocol is " + std::to_string(options.protocol) + ", expected 2 or 4");
  }
  const Ref ref = root.identity();
  return Writer(ValueAccess::ArenaOf(root), ref, options).Run(ref);
}

}  // namespace dcpctl::pickle
