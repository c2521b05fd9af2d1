#include "pickle/two_pass_writer.h"

#include "base/result.h"

namespace dcpctl::pickle {

TwoPassWriter::Name TwoPassWriter::Text(std::string_view text) {
  const auto [found, is_new] = texts_.try_emplace(std::string(text), static_cast<Name>(items_.size()));
  if (is_new) items_.push_back({.text = found->first});
  return found->second;
}

TwoPassWriter::Name TwoPassWriter::Global(std::string_view module, std::string_view name) {
  const std::pair parts(Text(module), Text(name));
  const auto [found, is_new] = globals_.try_emplace(parts, static_cast<Name>(items_.size()));
  if (is_new) items_.push_back({.text = {}, .module = parts.first, .name = parts.second});
  return found->second;
}

Result<std::string> TwoPassWriter::Run(const std::function<void()>& describe, const Limits& limits) {
  describe();
  counting_ = false;
  emit_.Reserve(most_bytes_);
  describe();
  emit_.Opcode(Op::kStop);
  if (emit_.size() > limits.pickle_bytes) {
    return Fail(ErrorKind::kLimit, "pickle would have more than " + std::to_string(limits.pickle_bytes) + " bytes");
  }
  return std::move(emit_).Take();
}

void TwoPassWriter::Count(Name name) {
  Item& item = items_[name];
  most_bytes_ += kMostGetBytes;
  if (item.uses++ > 0) return;
  most_bytes_ += kMostTextBytes + item.text.size();
  if (item.module == kNone) return;
  Count(item.module);
  Count(item.name);
}

void TwoPassWriter::Write(Name name) {
  Item& item = items_[name];
  if (item.memo != kNone) return emit_.Get(item.memo);
  if (item.module == kNone) {
    emit_.String(item.text);
  } else {
    Write(item.module);
    Write(item.name);
    emit_.Opcode(Op::kStackGlobal);
  }
  if (item.uses < 2) return;
  item.memo = next_index_++;
  emit_.Put(item.memo);
}

}  // namespace dcpctl::pickle
