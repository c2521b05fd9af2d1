#include "pickle/reader.h"

#include <algorithm>
#include <bit>

#include "base/quote.h"
#include "pickle/big_int.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

// Positions of opcodes are kept in 32 bits.
constexpr uint64_t kMaxPickleBytes = UINT32_MAX - 1;
// Nodes of a `.metadata` take about twice its bytes. Only a pickle made to waste memory needs more than
// this for each byte that the limit allows, so a hostile one of a gigabyte ends at three.
constexpr uint64_t kNodeBytesPerByte = 3;
constexpr uint64_t kLeastNodeBytes = uint64_t{1} << 20;
// No opcode adds more words than this, but for a sequence of what is on the stack.
constexpr uint64_t kWordsPerOp = 16;

// ('module', class, source file, source text): how torch.save's stream form writes the class of a module. It
// stands for the class; the text is for a warning that PyTorch gives when the class has changed.
std::optional<Ref> ClassOfModule(const Document::Arena& arena, Ref id) {
  constexpr size_t kItems = 4;
  if (arena.KindOf(id) != Kind::kTuple || arena.ChildrenOf(id).size() != kItems) return std::nullopt;
  const Ref name = arena.ChildrenOf(id)[0];
  const Ref type = arena.ChildrenOf(id)[1];
  const bool is_module = arena.KindOf(name) == Kind::kString && arena.TextOf(name) == "module";
  return is_module && arena.KindOf(type) == Kind::kGlobal ? std::optional(type) : std::nullopt;
}

}  // namespace

Reader::Reader(std::span<const std::byte> bytes, const ReadOptions& options)
    : options_(options),
      begin_(reinterpret_cast<const char*>(bytes.data())),
      at_(begin_),
      op_(begin_),
      end_(begin_ + bytes.size()),
      arena_(document_.arena()) {
  const uint64_t most = std::min(options.limits.pickle_bytes, kMaxPickleBytes);
  if (bytes.size() > most) {
    cut_by_limit_ = true;
    end_ = begin_ + most;
  }
  const uint64_t node_bytes = std::max(kLeastNodeBytes, most * kNodeBytesPerByte);
  arena_.max_words = std::min(kMaxWords, node_bytes / sizeof(uint32_t));
  arena_.base_offset = options.base_offset;
  arena_.words.Reserve(left() / 8 + kWordsPerOp);
}

size_t Reader::memory_bytes() const {
  return stack_.capacity_bytes() + memo_.memory_bytes() + marks_.capacity() * sizeof(size_t);
}

Result<Document> Reader::Run(uint64_t* consumed) {
  do {
    op_ = at_;
    if (at_ == end_) [[unlikely]] {
      FailEnd("pickle ends after " + std::to_string(at_ - begin_) + " bytes, expected a STOP opcode");
      break;
    }
    if (!arena_.HasRoom(kWordsPerOp)) [[unlikely]] {
      FailFull();
      break;
    }
  } while (Step(static_cast<Op>(*at_++)));
  if (error_) return dcpctl::Fail(std::move(*error_));
  arena_.words.ShrinkToFit();
  arena_.items.ShrinkToFit();
  arena_.max_words = kMaxWords;
  if (consumed != nullptr) *consumed = static_cast<uint64_t>(at_ - begin_);
  return std::move(document_);
}

bool Reader::Fail(ErrorKind kind, std::string message) {
  const Place place{options_.file, options_.base_offset + static_cast<uint64_t>(op_ - begin_)};
  error_ = Error(kind, place, std::move(message));
  const std::string_view name = op_ == end_ ? std::string_view() : OpName(static_cast<Op>(*op_));
  if (!name.empty()) error_ = std::move(*error_).In("opcode " + std::string(name));
  return false;
}

bool Reader::FailEnd(std::string message) {
  if (!cut_by_limit_) return Fail(ErrorKind::kCorrupt, std::move(message));
  return Fail(ErrorKind::kLimit,
              "pickle has more than " + std::to_string(end_ - begin_) + " bytes, expected at most that");
}

bool Reader::FailFull() {
  return Fail(ErrorKind::kLimit, "pickle has more values than fit into " +
                                     std::to_string(arena_.max_words * sizeof(uint32_t)) + " bytes of memory");
}

bool Reader::FailOperand(uint64_t expected) {
  return FailEnd("pickle ends in an operand: " + std::to_string(left()) + " bytes left, expected " +
                 std::to_string(expected));
}

template <size_t kWidth>
bool Reader::Counted(std::string_view& bytes) {
  uint64_t count = 0;
  return Unsigned<kWidth>(count) && Take(count, bytes);
}

bool Reader::SignedCounted(std::string_view& bytes) {
  uint64_t count = 0;
  if (!Unsigned<4>(count)) return false;
  if (count > INT32_MAX) {
    return Fail(ErrorKind::kCorrupt,
                "length is " + std::to_string(static_cast<int32_t>(count)) + ", expected 0 or more");
  }
  return Take(count, bytes);
}

template <size_t kWidth>
bool Reader::PushUnicode() {
  std::string_view text;
  if (!Counted<kWidth>(text)) return false;
  if (!IsUtf8(text, Surrogates::kPass)) return Fail(ErrorKind::kCorrupt, "text is not UTF-8: " + Quote(text, 40));
  return Push(arena_.AddText(Kind::kString, text));
}

template <size_t kWidth>
bool Reader::PushText(Kind kind) {
  std::string_view bytes;
  return Counted<kWidth>(bytes) && Push(arena_.AddText(kind, bytes));
}

// Strings of Python 2 were bytes; PyTorch loads them as UTF-8.
bool Reader::PushOldString(std::string_view bytes) {
  return Push(arena_.AddText(IsUtf8(bytes, Surrogates::kReject) ? Kind::kString : Kind::kBytes, bytes));
}

bool Reader::PushBigInt(std::string_view bytes) {
  if (const std::optional<int64_t> value = BigIntToInt64(bytes)) return Push(arena_.AddInt(*value));
  return Push(arena_.AddText(Kind::kBigInt, TrimBigInt(bytes)));
}

bool Reader::PushBinFloat() {
  std::string_view bytes;
  if (!Take(sizeof(double), bytes)) return false;
  uint64_t bits = 0;  // big-endian, unlike everything else
  for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
  return Push(arena_.AddFloat(std::bit_cast<double>(bits)));
}

bool Reader::PushPersistentId(Ref id) {
  if (!options_.allow_persistent_ids) {
    return Fail(ErrorKind::kCorrupt, "pickle refers to data outside itself (a persistent id), expected none here");
  }
  if (const std::optional<Ref> type = ClassOfModule(arena_, id)) return Push(*type);
  return Push(arena_.AddPersistentId(id));
}

bool Reader::Proto() {
  uint64_t protocol = 0;
  if (!Unsigned<1>(protocol)) return false;
  if (protocol <= kHighestProtocol) return true;
  return Fail(ErrorKind::kUnsupported, "pickle protocol is " + std::to_string(protocol) + ", expected at most " +
                                           std::to_string(kHighestProtocol));
}

bool Reader::Frame() {
  uint64_t length = 0;
  if (!Unsigned<8>(length)) return false;
  if (length <= left() || cut_by_limit_) return true;
  return Fail(ErrorKind::kCorrupt, "frame has " + std::to_string(length) + " bytes, expected at most the " +
                                       std::to_string(left()) + " left");
}

template <size_t kWidth>
bool Reader::Extension() {
  uint64_t code = 0;
  if (!Unsigned<kWidth>(code)) return false;
  return Fail(ErrorKind::kUnsupported, "extension code " + std::to_string(code) +
                                           " stands for a class that only the program that wrote it knows");
}

bool Reader::Stop() {
  if (!Need(1)) return false;
  if (stack_.size() != 1 || !marks_.empty()) {
    return Fail(ErrorKind::kCorrupt, "stack holds " + std::to_string(stack_.size()) + " values and " +
                                         std::to_string(marks_.size()) + " marks at the end, expected one value");
  }
  arena_.root = stack_[0];
  return false;
}

bool Reader::Step(Op op) {
  uint64_t number = 0;
  std::string_view bytes;
  Ref ref = kNoneRef;
  switch (op) {
    case Op::kProto: return Proto();
    case Op::kFrame: return Frame();
    case Op::kStop: return Stop();

    case Op::kNone: return Push(kNoneRef);
    case Op::kNewTrue: return Push(kTrueRef);
    case Op::kNewFalse: return Push(kFalseRef);
    case Op::kInt: return PushIntegerLine(false);
    case Op::kLong: return PushIntegerLine(true);
    case Op::kBinInt1: return Unsigned<1>(number) && Push(arena_.AddInt(static_cast<int64_t>(number)));
    case Op::kBinInt2: return Unsigned<2>(number) && Push(arena_.AddInt(static_cast<int64_t>(number)));
    case Op::kBinInt: return Unsigned<4>(number) && Push(arena_.AddInt(static_cast<int32_t>(number)));
    case Op::kLong1: return Counted<1>(bytes) && PushBigInt(bytes);
    case Op::kLong4: return SignedCounted(bytes) && PushBigInt(bytes);
    case Op::kFloat: return PushFloatLine();
    case Op::kBinFloat: return PushBinFloat();

    case Op::kString: return PushStringLine();
    case Op::kBinString: return SignedCounted(bytes) && PushOldString(bytes);
    case Op::kShortBinString: return Counted<1>(bytes) && PushOldString(bytes);
    case Op::kUnicode: return PushUnicodeLine();
    case Op::kShortBinUnicode: return PushUnicode<1>();
    case Op::kBinUnicode: return PushUnicode<4>();
    case Op::kBinUnicode8: return PushUnicode<8>();
    case Op::kShortBinBytes: return PushText<1>(Kind::kBytes);
    case Op::kBinBytes: return PushText<4>(Kind::kBytes);
    case Op::kBinBytes8: return PushText<8>(Kind::kBytes);
    case Op::kByteArray8: return PushText<8>(Kind::kByteArray);
    case Op::kNextBuffer:
    case Op::kReadOnlyBuffer:
      return Fail(ErrorKind::kUnsupported, "pickle refers to a buffer that was handed over beside it");

    case Op::kMark: return PushMark();
    case Op::kPop: return Pop();
    case Op::kPopMark: return PopMark(number) && (stack_.Truncate(number), true);
    case Op::kDup: return Dup();
    case Op::kMemoize: return Put(memo_.count());
    case Op::kBinGet: return Unsigned<1>(number) && Get(number);
    case Op::kLongBinGet: return Unsigned<4>(number) && Get(number);
    case Op::kBinPut: return Unsigned<1>(number) && Put(number);
    case Op::kLongBinPut: return Unsigned<4>(number) && Put(number);
    case Op::kGet: return MemoLine(false);
    case Op::kPut: return MemoLine(true);

    case Op::kEmptyTuple: return Push(kEmptyTupleRef);
    case Op::kTuple1: return MakeTopTuple(1);
    case Op::kTuple2: return MakeTopTuple(2);
    case Op::kTuple3: return MakeTopTuple(3);
    case Op::kTuple: return MakeMarkedSequence(Kind::kTuple);
    case Op::kFrozenSet: return MakeMarkedSequence(Kind::kFrozenSet);
    case Op::kEmptyList: return Push(arena_.AddContainer(Kind::kList));
    case Op::kEmptyDict: return Push(arena_.AddContainer(Kind::kDict));
    case Op::kEmptySet: return Push(arena_.AddContainer(Kind::kSet));
    case Op::kList: return MakeMarkedContainer(Kind::kList);
    case Op::kDict: return MakeMarkedContainer(Kind::kDict);
    case Op::kAppend: return AddOne(Kind::kList, OperationKind::kAppend);
    case Op::kAppends: return AddMarked(Kind::kList, OperationKind::kAppend);
    case Op::kSetItem: return AddOne(Kind::kDict, OperationKind::kSetItem);
    case Op::kSetItems: return AddMarked(Kind::kDict, OperationKind::kSetItem);
    case Op::kAddItems: return AddMarked(Kind::kSet, OperationKind::kAddItem);
    case Op::kBuild: return AddOne(Kind::kObject, OperationKind::kState);

    case Op::kGlobal: return GlobalLines(ref) && Push(ref);
    case Op::kStackGlobal: return MakeStackGlobal();
    case Op::kInst: return Inst();
    case Op::kObj: return Obj();
    case Op::kReduce: return Construction(Construct::kReduce);
    case Op::kNewObj: return Construction(Construct::kNewObj);
    case Op::kNewObjEx: return Construction(Construct::kNewObjEx);
    case Op::kPersId: return PushPersistentIdLine();
    case Op::kBinPersId: return Need(1) && PushPersistentId(TakeTop());
    case Op::kExt1: return Extension<1>();
    case Op::kExt2: return Extension<2>();
    case Op::kExt4: return Extension<4>();
  }
  return Fail(ErrorKind::kCorrupt,
              "opcode is " + Hex(static_cast<uint8_t>(op), 2) + ", expected one of pickle protocols 0 to 5");
}

Result<Document> ReadPickle(std::span<const std::byte> bytes, const ReadOptions& options, uint64_t* consumed) {
  if (consumed == nullptr && bytes.size() > options.limits.pickle_bytes) {
    return Fail(Place{options.file, options.base_offset}, ErrorKind::kLimit,
                "pickle has " + std::to_string(bytes.size()) + " bytes, expected at most " +
                    std::to_string(options.limits.pickle_bytes));
  }
  uint64_t length = 0;
  Reader reader(bytes, options);
  Result<Document> document = reader.Run(&length);
  if (!document) return document;
  if (consumed != nullptr) {
    *consumed = length;
  } else if (length < bytes.size()) {
    return Fail(Place{options.file, options.base_offset + length}, ErrorKind::kCorrupt,
                std::to_string(bytes.size() - length) + " bytes follow the pickle, expected none");
  }
  return document;
}

}  // namespace dcpctl::pickle
