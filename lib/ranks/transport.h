// Messages between the processes of a run, as a communication library gives them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/device_memory.h"
#include "dcpctl/error.h"

namespace dcpctl::ranks {

struct Message {
  unsigned from = 0;
  int tag = 0;
  std::string bytes;
  bool landed = false;  // `bytes` is empty: they are where the Placer wanted them
};

// Says where the bytes of a message go that has come, when that is not the program's memory: a part of just that
// length. Asked once for each message.
using Placer = std::function<std::optional<DevicePart>(unsigned from, int tag, uint64_t bytes)>;

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
  // waits for it. Memory that a message goes to is kept until all of it is there.
  virtual Result<std::optional<Message>> Poll(const Placer& placer) = 0;
  // Whether a Placer may name memory of CUDA's. Once open.
  [[nodiscard]] virtual bool TakesCuda() const = 0;
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
