// The opcodes of protocol 0 whose operands are lines of text.
#include <cstring>

#include "base/quote.h"
#include "pickle/reader.h"
#include "pickle/text_forms.h"
#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

constexpr size_t kQuoted = 40;  // bytes of input in a message

}  // namespace

bool Reader::Line(std::string_view& line) {
  const void* const newline = left() == 0 ? nullptr : std::memchr(at_, '\n', left());
  if (newline == nullptr) return FailEnd("pickle ends in a line of text, expected a newline");
  line = {at_, static_cast<size_t>(static_cast<const char*>(newline) - at_)};
  at_ = static_cast<const char*>(newline) + 1;
  return true;
}

bool Reader::PushIntegerLine(bool is_long) {
  std::string_view line;
  if (!Line(line)) return false;
  if (!is_long && line == "00") return Push(kFalseRef);
  if (!is_long && line == "01") return Push(kTrueRef);
  std::string_view digits = line;
  if (is_long && digits.ends_with('L')) digits.remove_suffix(1);
  const std::optional<Integer> number = ParseIntegerLine(digits);
  if (!number) return Fail(ErrorKind::kCorrupt, "integer is " + Quote(line, kQuoted) + ", expected a numeral");
  if (const auto* const value = std::get_if<int64_t>(&*number)) return Push(arena_.AddInt(*value));
  if (const auto* const bytes = std::get_if<std::string>(&*number)) {
    return Push(arena_.AddText(Kind::kBigInt, arena_.text.Copy(*bytes)));
  }
  return Fail(ErrorKind::kLimit, "integer has " + std::to_string(digits.size()) + " digits, expected fewer");
}

bool Reader::PushFloatLine() {
  std::string_view line;
  if (!Line(line)) return false;
  if (const std::optional<double> value = ParseFloatLine(line)) return Push(arena_.AddFloat(*value));
  return Fail(ErrorKind::kCorrupt, "float is " + Quote(line, kQuoted) + ", expected a numeral");
}

bool Reader::PushStringLine() {
  std::string_view line;
  if (!Line(line)) return false;
  if (const std::optional<std::string> bytes = ParseQuoted(line)) return PushOldString(arena_.text.Copy(*bytes));
  return Fail(ErrorKind::kCorrupt, "string is " + Quote(line, kQuoted) + ", expected a quoted Python literal");
}

bool Reader::PushUnicodeLine() {
  std::string_view line;
  if (!Line(line)) return false;
  if (const std::optional<std::string> text = ParseRawUnicodeEscape(line)) {
    return Push(arena_.AddText(Kind::kString, arena_.text.Copy(*text)));
  }
  return Fail(ErrorKind::kCorrupt, "text is " + Quote(line, kQuoted) + ", expected raw-unicode-escape");
}

bool Reader::PushPersistentIdLine() {
  std::string_view line;
  if (!Line(line)) return false;
  if (!IsUtf8(line, Surrogates::kReject))
    return Fail(ErrorKind::kCorrupt, "persistent id is " + Quote(line, kQuoted) + ", expected text");
  return PushPersistentId(arena_.AddText(Kind::kString, line));
}

bool Reader::GlobalLines(Ref& global) {
  std::string_view module;
  std::string_view name;
  if (!Line(module) || !Line(name)) return false;
  if (module.empty() || name.empty() || !IsUtf8(module, Surrogates::kReject) || !IsUtf8(name, Surrogates::kReject)) {
    return Fail(ErrorKind::kCorrupt,
                "global is " + Quote(module, kQuoted) + " " + Quote(name, kQuoted) + ", expected names");
  }
  const Ref module_ref = arena_.AddText(Kind::kString, module);
  const Ref name_ref = arena_.AddText(Kind::kString, name);
  global = arena_.AddGlobal(module_ref, name_ref, position());
  return true;
}

// An instance of a Python 2 class: arguments above the mark, the class in the operand.
bool Reader::Inst() {
  size_t start = 0;
  Ref global = kNoneRef;
  if (!GlobalLines(global) || !PopMark(start) || !MakeSequence(Kind::kTuple, start)) return false;
  return MakeObject(Construct::kReduce, global, TakeTop(), std::nullopt);
}

bool Reader::MemoLine(bool put) {
  std::string_view line;
  if (!Line(line)) return false;
  const std::optional<uint64_t> index = ParseIndexLine(line);
  if (!index) return Fail(ErrorKind::kCorrupt, "memo index is " + Quote(line, kQuoted) + ", expected a number");
  return put ? Put(*index) : Get(*index);
}

}  // namespace dcpctl::pickle
