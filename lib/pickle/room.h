// How much may be made of what a pickle holds. Values may be shared, and what is made of one counts once for each way
// that leads to it: a pickle of a few hundred bytes could ask for more than fits into any memory, or for years of work.
#pragma once

#include <cstdint>

namespace dcpctl::pickle {

class Room {
 public:
  // So many bytes, of memory or of what has to be looked at, for each of the document's content_bytes().
  Room(uint64_t content_bytes, uint64_t per_byte) : left_(kLeast + per_byte * content_bytes) {}

  // Whether there was as much. Once there was not, there is nothing left.
  bool Take(uint64_t bytes) {
    is_full_ = is_full_ || bytes > left_;
    left_ = is_full_ ? 0 : left_ - bytes;
    return !is_full_;
  }
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  static constexpr uint64_t kLeast = uint64_t{16} << 20;

  uint64_t left_;
  bool is_full_ = false;
};

}  // namespace dcpctl::pickle
