// The pickle machine: a stack, marks and a memo, as in CPython's Unpickler, but what it makes are nodes of
// a Document. It calls nothing, looks nothing up and does not recurse. Internal; see ReadPickle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/pickle.h"
#include "pickle/arena.h"
#include "pickle/memo.h"
#include "pickle/opcodes.h"

namespace dcpctl::pickle {

class Reader {
 public:
  // Stores both; they must outlive it.
  Reader(std::span<const std::byte> bytes, const ReadOptions& options);

  Result<Document> Run(uint64_t* consumed);
  // Of the stack, marks and memo, which go away with the reader.
  [[nodiscard]] size_t memory_bytes() const;

 private:
  // All of these return false after they have stored a failure; Step and Stop also when all is read.
  bool Step(Op op);
  bool Fail(ErrorKind kind, std::string message);
  bool FailEnd(std::string message);  // the input has no more, or the limit lets no more of it be seen
  bool FailOperand(uint64_t expected);
  bool FailFull();
  bool FailNeed(size_t count);
  bool FailGet(uint64_t index);
  bool FailPut(uint64_t index);

  // Operands.
  template <size_t kWidth>
  bool Unsigned(uint64_t& value) {
    if (left() < kWidth) [[unlikely]]
      return FailOperand(kWidth);
    value = 0;
    for (size_t i = 0; i < kWidth; ++i) value |= uint64_t{static_cast<unsigned char>(at_[i])} << (8 * i);
    at_ += kWidth;
    return true;
  }
  bool Take(uint64_t count, std::string_view& bytes) {
    if (left() < count) [[unlikely]]
      return FailOperand(count);
    bytes = {at_, static_cast<size_t>(count)};
    at_ += count;
    return true;
  }
  template <size_t kWidth>
  bool Counted(std::string_view& bytes);
  bool SignedCounted(std::string_view& bytes);  // BINSTRING and LONG4 have a signed length
  bool Line(std::string_view& line);

  // Values.
  bool Push(Ref ref) {
    stack_.PushBack(ref);
    return true;
  }
  template <size_t kWidth>
  bool PushUnicode();
  template <size_t kWidth>
  bool PushText(Kind kind);
  bool PushOldString(std::string_view bytes);
  bool PushBigInt(std::string_view bytes);
  bool PushBinFloat();
  bool PushPersistentId(Ref id);

  // Text forms of protocol 0.
  bool PushIntegerLine(bool is_long);
  bool PushFloatLine();
  bool PushStringLine();
  bool PushUnicodeLine();
  bool PushPersistentIdLine();
  bool GlobalLines(Ref& global);
  bool Inst();
  bool MemoLine(bool put);

  // Stack and memo. Items below the last mark are out of reach.
  [[nodiscard]] size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool Need(size_t count) { return stack_.size() - floor() >= count || FailNeed(count); }
  Ref TakeTop() {
    const Ref top = stack_[stack_.size() - 1];
    stack_.Truncate(stack_.size() - 1);
    return top;
  }
  bool PushMark();
  // Removes the last mark, but not the items above it; they begin at `start`.
  bool PopMark(size_t& start);
  bool Pop();
  bool Dup();
  bool Get(uint64_t index) {
    const std::optional<Ref> ref = memo_.Get(index);
    return ref ? Push(*ref) : FailGet(index);
  }
  bool Put(uint64_t index) { return Need(1) && (memo_.Put(index, stack_[stack_.size() - 1]) || FailPut(index)); }

  // Containers and objects.
  bool MakeSequence(Kind kind, size_t start);
  bool MakeTopTuple(size_t count);
  bool MakeMarkedSequence(Kind kind);
  bool MakeMarkedContainer(Kind kind);
  bool MakeStackGlobal();
  bool MakeObject(Construct construct, Ref callable, Ref args, std::optional<Ref> kwargs);
  bool Construction(Construct construct);
  bool Obj();
  bool AddOne(Kind container, OperationKind operation);
  bool AddMarked(Kind container, OperationKind operation);
  // Puts the items from `start` on into what is below them, and removes them.
  bool AddTo(size_t start, Kind container, OperationKind operation);

  bool Proto();
  bool Frame();
  template <size_t kWidth>
  bool Extension();
  bool Stop();

  [[nodiscard]] uint32_t position() const { return static_cast<uint32_t>(op_ - begin_) + 1; }
  [[nodiscard]] uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }

  const ReadOptions& options_;
  const char* begin_;
  const char* at_;
  const char* op_;
  const char* end_;
  bool cut_by_limit_ = false;  // there is more input than the limit lets it see
  Document document_;
  Document::Arena& arena_;
  WordBuffer stack_;
  std::vector<size_t> marks_;
  Memo memo_;
  std::optional<Error> error_;
};

}  // namespace dcpctl::pickle
