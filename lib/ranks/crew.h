// The processes of a run as one of them sees them: what they tell each other, and that they end together. The first
// one leads: it decides how the run ended, and all have its word.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/error.h"
#include "ranks/courier.h"

namespace dcpctl::ranks {

struct CrewTiming {
  CourierTiming courier = {};
  // After a failure: how long to wait for the others to stop.
  std::chrono::milliseconds grace{10'000};
  // The same after a signal. Launchers kill what is left a second after they have asked.
  std::chrono::milliseconds signal_grace{300};
};

// One thread calls all of it but stop() and courier(). Messages are tagged; see kFirstFreeTag.
class Crew {
 public:
  // `stop` is the user's. Errors: those of the transport.
  static Result<std::unique_ptr<Crew>> Join(std::unique_ptr<Transport> transport, const std::stop_token& stop,
                                            const CrewTiming& timing = {});

  [[nodiscard]] unsigned rank() const { return courier_->rank(); }
  [[nodiscard]] unsigned size() const { return courier_->size(); }
  [[nodiscard]] bool leads() const { return rank() == 0; }
  // Asked for when the user stops this process, or another has failed or is gone.
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  [[nodiscard]] Courier& courier() { return *courier_; }

  // All call these, in the same order. kCancelled when the run is stopped.
  // What the first process has, for all.
  Result<std::string> Broadcast(std::string mine);
  // What each process has, by rank. None returns before all have called.
  Result<std::vector<std::string>> Gather(std::string mine);

  // The last call: this process is done, well or not. Returns the same for all, once all have stopped: the error of the
  // first rank that has one, or nothing. A process that does not answer is an error, too, unless the first one is done
  // well: its last step has to be one after which no other can fail.
  Result<void> Conclude(Result<void> mine);
  // Whether the leader was there to conclude. If not, others tidy up behind it.
  [[nodiscard]] bool has_verdict() const { return has_verdict_; }
  // After Conclude: parts from the others. `status` is for processes that must be ended by force.
  void Leave(int status);

  static constexpr int kFirstFreeTag = 16;

 private:
  using Outcome = std::optional<Error>;

  explicit Crew(const CrewTiming& timing) : timing_(timing) {}
  Result<void> Send(unsigned to, std::string_view bytes);
  Result<std::string> Receive(unsigned from);
  void OnDone(unsigned from, const std::string& bytes);
  void StopAll();
  void WaitForAll();
  Outcome Judge();
  Result<void> ConcludeAsLeader(Result<void> mine);
  Result<void> ConcludeAsOther(Result<void> mine);
  [[nodiscard]] std::chrono::milliseconds Grace() const;

  const CrewTiming timing_;
  std::stop_source stop_;
  std::stop_token user_stop_;
  std::atomic<bool> has_verdict_ = false;
  std::mutex mutex_;  // guards the three below
  std::condition_variable_any changed_;
  std::vector<std::optional<Outcome>> outcomes_;  // by rank, of those that are done; the leader's
  std::optional<Error> lost_;
  std::unique_ptr<Courier> courier_;
  std::optional<std::stop_callback<std::function<void()>>> on_user_stop_;
};

}  // namespace dcpctl::ranks
