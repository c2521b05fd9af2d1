// Writes a pickle of protocol 4 from a description, without a Document of it: for what has millions of small parts. The
// description is given twice, first to count which texts and globals come more than once (those go into the memo), then
// to be written. The bytes are what WritePickle gives for a Document in which nothing else is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/text_hash.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "pickle/emitter.h"

namespace dcpctl::pickle {

class TwoPassWriter {
 public:
  // A text or a global of this writer; equal ones are one.
  using Name = uint32_t;

  Name Text(std::string_view text);
  // As Python 3 calls it.
  Name Global(std::string_view module, std::string_view name);

  // `describe` makes one value by the calls below, and the same both times. kLimit when the pickle gets too large.
  Result<std::string> Run(const std::function<void()>& describe, const Limits& limits = {});

  void None() { Opcode(Op::kNone); }
  void Bool(bool value) { Opcode(value ? Op::kNewTrue : Op::kNewFalse); }
  void Int(int64_t value) {
    if (counting_) {
      most_bytes_ += kMostIntBytes;
    } else {
      emit_.Int(value);
    }
  }
  void Use(Name name) {
    if (counting_) {
      Count(name);
    } else {
      Write(name);
    }
  }

  // Around the items of a tuple.
  void BeginTuple(size_t count) {
    if (count >= kShortTuples.size()) Opcode(Op::kMark);
  }
  void EndTuple(size_t count) { Opcode(count >= kShortTuples.size() ? Op::kTuple : kShortTuples[count]); }
  // `item(i)` describes one item, or a key and its value.
  template <typename Fn>
  void List(size_t count, const Fn& item) {
    Opcode(Op::kEmptyList);
    Batches(count, Op::kAppend, Op::kAppends, item);
  }
  template <typename Fn>
  void Dict(size_t count, const Fn& item) {
    Opcode(Op::kEmptyDict);
    Batches(count, Op::kSetItem, Op::kSetItems, item);
  }
  // callable(argument)
  template <typename Fn>
  void Call(Name callable, const Fn& argument) {
    Use(callable);
    argument();
    Opcode(Op::kTuple1);
    Opcode(Op::kReduce);
  }
  // A new object of a class; SetState after the description of a state.
  void Instance(Name type) {
    Use(type);
    Opcode(Op::kEmptyTuple);
    Opcode(Op::kNewObj);
  }
  void SetState() { Opcode(Op::kBuild); }
  // Around the names and values of its attributes, which are two or more.
  void BeginAttributes() {
    Opcode(Op::kEmptyDict);
    Opcode(Op::kMark);
  }
  void EndAttributes() {
    Opcode(Op::kSetItems);
    SetState();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMostIntBytes = 5;   // of what fits 32 bits, as nearly all does
  static constexpr size_t kMostGetBytes = 5;   // opcode and index
  static constexpr size_t kMostTextBytes = 6;  // opcode and length before a text, MEMOIZE after it

  struct Item {
    std::string_view text;
    Name module = kNone;  // of a global; `text` is empty
    Name name = kNone;
    uint64_t uses = 0;
    uint32_t memo = kNone;  // its index there
  };

  void Count(Name name);
  void Write(Name name);
  void Opcode(Op op) {
    if (counting_) {
      ++most_bytes_;
    } else {
      emit_.Opcode(op);
    }
  }
  template <typename Fn>
  void Batches(size_t count, Op one, Op many, const Fn& item) {
    WriteBatches(
        count, one, many, [this](Op op) { Opcode(op); },
        [&](size_t i) {
          item(i);
          return true;
        });
  }

  std::vector<Item> items_;
  Pool<char> chars_;
  TextViewMap<Name> texts_;  // in chars_
  std::map<std::pair<Name, Name>, Name> globals_;
  bool counting_ = true;
  size_t most_bytes_ = 0;  // nearly always; more only cost another allocation
  uint32_t next_index_ = 0;
  Emitter emit_{4};
};

}  // namespace dcpctl::pickle
