// Messages between the processes of a run, as a communication library gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dcpctl/error.h"

namespace dcpctl::ranks {

struct Message {
  unsigned from = 0;
  int tag = 0;
  std::string bytes;
};

// All calls by one thread, that of Open. After a failure only Abort is of use.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Result<void> Open() = 0;
  [[nodiscard]] virtual unsigned rank() const = 0;
  [[nodiscard]] virtual unsigned size() const = 0;
  // Takes the bytes, at most 2^31 - 1, and returns at once.
  virtual Result<void> Send(unsigned to, int tag, std::string bytes) = 0;
  // The next message that has come; those of one sender in their order. Also moves on what is under way, and never
  // waits for it.
  virtual Result<std::optional<Message>> Poll() = 0;
  // Bytes given to Send that are not gone yet, and one for each message.
  [[nodiscard]] virtual uint64_t unsent() const = 0;
  // Whether bytes are being sent or received, so that another Poll would move them on.
  [[nodiscard]] virtual bool moving() const = 0;
  // Waits for the others to close.
  virtual Result<void> Close() = 0;
  // Ends all processes of the run.
  virtual void Abort(int status) = 0;
};

}  // namespace dcpctl::ranks
