// Lets tasks that are done in any order write in theirs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

#include "dcpctl/error.h"

namespace dcpctl::engine {

// Thread-safe.
class Turns {
 public:
  explicit Turns(std::stop_token stop) : stop_(std::move(stop)) {}
  // Returns when all tasks before `number` have ended. kCancelled when that can no longer happen.
  Result<void> Wait(uint64_t number);
  void End(uint64_t number, bool ok);

 private:
  const std::stop_token stop_;
  std::mutex mutex_;  // guards the two below
  uint64_t turn_ = 0;
  bool broken_ = false;
  std::condition_variable_any changed_;
};

}  // namespace dcpctl::engine
