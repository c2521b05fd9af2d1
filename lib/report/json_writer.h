// Writes one JSON document, a field a line and a list item a line: readable, good for grep, and never the
// whole document in memory. Text that is not UTF-8 gets replacement characters.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

namespace dcpctl::report {

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  // `out` must outlive the writer.
  explicit JsonWriter(std::ostream& out) : out_(out) { out_ << "{\n"; }

  void Field(std::string_view name, const Json& value) {
    BeginField(name);
    Dump(value);
  }
  void BeginList(std::string_view name) {
    BeginField(name);
    out_ << "[";
    items_ = 0;
  }
  void Item(const Json& value) {
    out_ << (items_++ == 0 ? "\n    " : ",\n    ");
    Dump(value);
  }
  void EndList() { out_ << (items_ == 0 ? "]" : "\n  ]"); }
  void End() { out_ << "\n}\n"; }

 private:
  void BeginField(std::string_view name) {
    out_ << (fields_++ == 0 ? "  " : ",\n  ");
    Dump(Json(name));
    out_ << ": ";
  }
  void Dump(const Json& value) { out_ << value.dump(-1, ' ', false, Json::error_handler_t::replace); }

  std::ostream& out_;
  size_t fields_ = 0;
  size_t items_ = 0;
};

}  // namespace dcpctl::report
