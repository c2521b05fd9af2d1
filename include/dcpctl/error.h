// Errors as values. An Error says what kind of failure it is, where it happened (file and absolute
// offset in the outermost file) and what was found and expected; each layer that passes it on may add
// the one fact only it knows. Values, safe to move between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace dcpctl {

enum class ErrorKind : uint8_t {
  kUsage,        // the caller asked for something that makes no sense
  kNotFound,     // a path, key or pattern names nothing
  kExists,       // an output is already there
  kIo,           // the system refused to read or write
  kCorrupt,      // the input contradicts its format or itself
  kUnsupported,  // valid, but this version does not handle it
  kLimit,        // valid so far, but larger than a limit of limits.h
  kMismatch,     // two inputs that must agree do not
  kCancelled,    // stopped from outside
  kInternal,     // a bug in this library
};

// Where a failure was seen. `offset` counts bytes from the start of `file`, also inside an archive
// that is embedded in it.
struct Place {
  std::string file;
  std::optional<uint64_t> offset = std::nullopt;
};

class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  Error(ErrorKind kind, Place place, std::string message)
      : kind_(kind), place_(std::move(place)), message_(std::move(message)) {}

  // Adds what the caller knows. At() keeps a file that is already there: the innermost layer knows best.
  [[nodiscard]] Error At(Place place) &&;
  [[nodiscard]] Error In(std::string context) &&;
  [[nodiscard]] Error Advise(std::string advice) &&;

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::string& advice() const { return advice_; }

  // `message (context; context)`, without place and advice.
  [[nodiscard]] std::string Text() const;
  // `FILE:0xOFFSET: error: message (context)`; advice, if any, on a second line. Control characters
  // are escaped, so the result is always safe to print.
  [[nodiscard]] std::string ToString() const;

 private:
  ErrorKind kind_;
  Place place_;
  std::string message_;
  std::vector<std::string> context_;
  std::string advice_;
};

// Either a T or an Error. Derived only to be [[nodiscard]]; becomes std::expected when the oldest
// supported compiler has it.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

// `return Fail(kind, "message");` or `return Fail(place, kind, "message");` in a function that returns Result.
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> Fail(ErrorKind kind, std::string message) { return Fail(Error(kind, std::move(message))); }
inline tl::unexpected<Error> Fail(Place place, ErrorKind kind, std::string message) {
  return Fail(Error(kind, std::move(place), std::move(message)));
}

}  // namespace dcpctl
