// Output written from front to back: a file being made, standard output, a FIFO, a device. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "dcpctl/error.h"

namespace dcpctl::io {

class SystemCalls;
class WriteFile;

class Sink {
 public:
  virtual ~Sink() = default;
  // From now on a Write that waits for a reader gives up soon after `stop` asks for it: kCancelled.
  virtual void StopWhen(std::stop_token /*stop*/) {}
  // Appends all of `bytes`. Errors: kIo with the place written to.
  virtual Result<void> Write(std::span<const std::byte> bytes) = 0;
  // No Write after this. Reports what the system reports only on closing. Does not commit a WriteFile.
  virtual Result<void> Finish() = 0;
  // Bytes written so far.
  [[nodiscard]] virtual uint64_t written() const = 0;
  // For messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

// Writes `file`, which must outlive the sink, from its start.
std::unique_ptr<Sink> NewFileSink(WriteFile& file);

// Takes over `fd`, named `name` in messages. A pipe whose reader has gone is kIo "reader closed the pipe", provided
// that SIGPIPE is ignored in this process: that is the program's choice, not the library's. A descriptor set to
// non-blocking is waited for. `calls` as for NewPosixFileSystem.
std::unique_ptr<Sink> NewStreamSink(int fd, std::string name, const SystemCalls* calls = nullptr);

// A sink on a duplicate of the process's standard output.
Result<std::unique_ptr<Sink>> OpenStandardOutput();

}  // namespace dcpctl::io
