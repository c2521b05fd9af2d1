#include "pickle/two_pass_writer.h"

#include <algorithm>

#include "base/result.h"

namespace dcpctl::pickle {

TwoPassWriter::Name TwoPassWriter::Text(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  const auto name = static_cast<Name>(items_.size());
  char* const copy = chars_.Add(text.size());
  std::copy(text.begin(), text.end(), copy);
  items_.push_back({.text = {copy, text.size()}});
  texts_.emplace(items_.back().text, name);
  return name;
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
