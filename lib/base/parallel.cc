#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dcpctl {
namespace {

class Run {
 public:
  Run(uint64_t count, const std::stop_token& stop, const std::function<Result<void>(uint64_t)>& fn)
      : count_(count), stop_(stop), fn_(fn) {}

  void Work() {
    for (;;) {
      const uint64_t i = next_.fetch_add(1);
      if (i >= count_ || failed_.load()) return;
      if (stop_.stop_requested()) return Record(i, Error(ErrorKind::kCancelled, "stopped before the end"));
      if (auto done = Call(i); !done) return Record(i, std::move(done).error());
    }
  }

  Result<void> Outcome() {
    if (error_) return Fail(*std::move(error_));
    return {};
  }

 private:
  Result<void> Call(uint64_t i) {
    try {
      return fn_(i);
    } catch (const std::exception& e) {
      return Fail(ErrorKind::kInternal, e.what());
    } catch (...) {
      return Fail(ErrorKind::kInternal, "an exception of unknown type");
    }
  }

  void Record(uint64_t i, Error error) {
    const std::lock_guard lock(mutex_);
    failed_.store(true);
    // Being stopped is the echo of another step's failure, if there is one.
    const auto rank = [](const Error& e, uint64_t index) {
      return std::pair(e.kind() == ErrorKind::kCancelled, index);
    };
    if (error_ && rank(*error_, error_index_) <= rank(error, i)) return;
    error_ = std::move(error);
    error_index_ = i;
  }

  const uint64_t count_;
  const std::stop_token stop_;
  const std::function<Result<void>(uint64_t)>& fn_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards the two below
  std::optional<Error> error_;
  uint64_t error_index_ = 0;
};

}  // namespace

unsigned EffectiveJobs(unsigned jobs) { return jobs != 0 ? jobs : std::max(1U, std::thread::hardware_concurrency()); }

Result<void> ParallelFor(uint64_t count, unsigned jobs, const std::stop_token& stop,
                         const std::function<Result<void>(uint64_t)>& fn) {
  Run run(count, stop, fn);
  const auto threads = static_cast<unsigned>(std::min<uint64_t>(EffectiveJobs(jobs), count));
  {
    std::vector<std::jthread> pool;
    try {
      for (unsigned t = 1; t < threads; ++t) pool.emplace_back([&run] { run.Work(); });
    } catch (const std::system_error&) {
      // The system has no more threads to give; those there are do all the work.
    }
    run.Work();
  }
  return run.Outcome();
}

}  // namespace dcpctl
