// How a running job tells its caller what happens. The library never prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace dcpctl {

// Calls may come from any worker thread, one at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  // A stage begins: "survey", "copy", "commit", ... `total_bytes` is 0 when it is not known.
  virtual void OnStage(std::string_view /*name*/, uint64_t /*total_bytes*/) {}
  // `bytes` more of the stage are done.
  virtual void OnBytes(uint64_t /*bytes*/) {}
  // One line of detail for a log.
  virtual void OnDetail(std::string_view /*text*/) {}
};

}  // namespace dcpctl
