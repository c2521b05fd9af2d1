#include "ops/parse_json.h"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::ops {
namespace {

using Json = nlohmann::ordered_json;

// What is read here is flat; and documents are copied, printed and freed level by level.
constexpr size_t kMaxDepth = 16;
// Members of one object. A document keeps them in their order, and goes through all for each one that it adds.
constexpr size_t kMaxMembers = 100;

// Looks for what a document tree does not show any more, or had better not be made of: the place of a syntax error,
// members that are there twice or without end, and nesting without end. Stops at the first.
class Screener final : public nlohmann::json_sax<Json> {
 public:
  Screener(std::string file, std::string expected) : file_(std::move(file)), expected_(std::move(expected)) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return Enter(); }
  bool start_array(size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    std::set<std::string>& members = members_.back();
    if (!members.insert(name).second) {
      error_ = Error(ErrorKind::kCorrupt, "member " + Quote(name) + " is there twice, expected once");
    } else if (members.size() > kMaxMembers) {
      error_ = Error(ErrorKind::kCorrupt, "JSON with an object of more than " + std::to_string(kMaxMembers) +
                                              " members, expected " + expected_);
    }
    return !error_;
  }
  bool parse_error(size_t position, const std::string& last, const nlohmann::detail::exception&) override {
    error_ = Error(ErrorKind::kCorrupt, {.file = file_, .offset = position == 0 ? 0 : position - 1},
                   "JSON that cannot be read, at " + Quote(last, 40) + ", expected " + expected_);
    return false;
  }

  std::optional<Error> error() && { return std::move(error_); }

 private:
  bool Enter() {
    members_.emplace_back();
    if (members_.size() <= kMaxDepth) return true;
    error_ =
        Error(ErrorKind::kCorrupt, "JSON nested deeper than " + std::to_string(kMaxDepth) + ", expected " + expected_);
    return false;
  }
  bool Leave() {
    members_.pop_back();
    return true;
  }

  const std::string file_;
  const std::string expected_;
  std::vector<std::set<std::string>> members_;  // of the containers around
  std::optional<Error> error_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, const std::string& file, const std::string& expected) {
  Screener screener(file, expected);
  Json::sax_parse(text, &screener);
  if (std::optional<Error> error = std::move(screener).error()) return Fail(*std::move(error));
  return Json::parse(text, nullptr, false);
}

}  // namespace dcpctl::ops
