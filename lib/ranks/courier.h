// Carries messages for the threads of one process: communication libraries want one thread to talk to them, and this
// is it. Also notices when another process is no longer there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dcpctl/error.h"
#include "ranks/transport.h"

namespace dcpctl::ranks {

struct CourierTiming {
  std::chrono::milliseconds beat{5'000};      // how often each process says that it is there
  std::chrono::milliseconds silence{30'000};  // and how long it may say nothing
  std::chrono::milliseconds close{10'000};    // to part in order, after which the process just ends
};

class Courier {
 public:
  // Opens the transport, on a thread of its own. `on_lost` is called by that thread, once: when the transport fails or
  // a process has been silent for too long; nothing is carried from then on.
  static Result<std::unique_ptr<Courier>> Start(std::unique_ptr<Transport> transport, const CourierTiming& timing,
                                                std::function<void(const Error&)> on_lost);
  // Leaves, if Leave was not called.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  [[nodiscard]] unsigned rank() const { return rank_; }
  [[nodiscard]] unsigned size() const { return size_; }

  // Messages with this tag go to `handler`, on the courier's thread, which it must not hold up: it may Post and no
  // more. Tags without a handler wait for Take.
  using Handler = std::function<void(unsigned from, std::string bytes)>;
  void Handle(int tag, Handler handler);

  // Whether messages can land in memory of this kind.
  [[nodiscard]] bool CanLandIn(MemoryKind kind) const { return kind == MemoryKind::kOrdinary || takes_cuda_; }
  // The next message of `from` with this tag, which no other uses, is to land in `place`. Before its sender is asked
  // for it. `then` is called as a Handler is, when it has come: with false if it was of another length, and was thrown
  // away.
  using Landed = std::function<void(bool landed)>;
  void Expect(unsigned from, int tag, DevicePart place, Landed then);
  // It is not wanted any more: `then` is not called, though a call of it may be under way, and what comes is thrown
  // away. What is coming already goes on into its place, which is kept until then.
  void Renounce(unsigned from, int tag);

  // Sends without waiting.
  void Post(unsigned to, int tag, std::string bytes);
  // Waits while much is still to be sent. kCancelled when stopped before.
  Result<void> PostWhenRoom(unsigned to, int tag, std::string bytes, const std::stop_token& stop);
  // The next message with this tag. kCancelled when stopped before, or when the transport has failed.
  Result<std::string> Take(unsigned from, int tag, const std::stop_token& stop);
  // Nothing when none comes in time.
  std::optional<std::string> TakeWithin(unsigned from, int tag, std::chrono::milliseconds time);

  // The end: waits for all others to leave. With `status` other than 0, all processes of the run are ended, however
  // far they are.
  void Leave(int status);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { kOpening, kRunning, kBroken, kLeaving, kAborting, kLeft };

  Courier(std::unique_ptr<Transport> transport, const CourierTiming& timing, std::function<void(const Error&)> on_lost)
      : transport_(std::move(transport)), timing_(timing), on_lost_(std::move(on_lost)) {}

  void Work();
  Result<void> Carry();
  Result<bool> Exchange(std::deque<Message>& outgoing);
  std::optional<DevicePart> PlaceFor(unsigned from, int tag, uint64_t bytes);
  std::optional<Landed> TakeLanding(const Message& message);
  Result<void> BeatAndListen();
  void Deliver(Message message);
  void Lose(const Error& error);
  void Pause(Clock::time_point last_message);
  std::optional<std::string> TakeNow(unsigned from, int tag);

  const std::unique_ptr<Transport> transport_;  // used by thread_ alone
  const CourierTiming timing_;
  const std::function<void(const Error&)> on_lost_;
  const Placer placer_ = [this](unsigned from, int tag, uint64_t bytes) { return PlaceFor(from, tag, bytes); };
  unsigned rank_ = 0;
  unsigned size_ = 1;
  bool takes_cuda_ = false;
  std::vector<Clock::time_point> heard_;  // by rank; of thread_ alone
  Clock::time_point next_beat_;
  bool told_lost_ = false;

  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  State state_ = State::kOpening;
  int status_ = 0;
  std::optional<Error> open_error_;
  std::deque<Message> outgoing_;  // `from` is whom they go to
  uint64_t outgoing_bytes_ = 0;   // with those that the transport has not sent yet
  std::map<std::pair<unsigned, int>, std::deque<std::string>> inbox_;
  std::map<int, Handler> handlers_;
  struct Landing {
    std::optional<DevicePart> place;  // until it is taken, or not wanted any more
    Landed then;                      // as long as somebody wants to know
  };
  std::map<std::pair<unsigned, int>, Landing> landings_;
  uint64_t takers_ = 0;  // threads that wait for a message

  std::jthread thread_;  // last: uses all of the above
};

}  // namespace dcpctl::ranks
