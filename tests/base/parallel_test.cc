#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;

// Lets threads wait for each other, so that tests choose what happens first.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;  // guards open_
  bool open_ = false;
  std::condition_variable changed_;
};

TEST(EffectiveJobs, IsAtLeastOne) {
  EXPECT_EQ(EffectiveJobs(3), 3u);
  EXPECT_GE(EffectiveJobs(0), 1u);
}

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const unsigned jobs : {0u, 1u, 2u, 7u, 64u}) {
    constexpr uint64_t kCount = 1000;
    std::vector<std::atomic<int>> calls(kCount);
    ASSERT_TRUE(ParallelFor(kCount, jobs, {}, [&](uint64_t i) -> Result<void> {
      ++calls[i];
      return {};
    }));
    for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
  }
}

TEST(ParallelFor, OfNothingSucceeds) {
  EXPECT_TRUE(ParallelFor(0, 4, {}, [](uint64_t) -> Result<void> { return Fail(ErrorKind::kInternal, "called"); }));
}

TEST(ParallelFor, RunsInOrderOnOneThread) {
  std::vector<uint64_t> order;
  std::set<std::thread::id> threads;
  ASSERT_TRUE(ParallelFor(5, 1, {}, [&](uint64_t i) -> Result<void> {
    order.push_back(i);
    threads.insert(std::this_thread::get_id());
    return {};
  }));
  EXPECT_EQ(order, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(ParallelFor, RunsOnSeveralThreads) {
  // Each waits for the other, which one thread could not do.
  Gate first;
  Gate second;
  ASSERT_TRUE(ParallelFor(2, 2, {}, [&](uint64_t i) -> Result<void> {
    (i == 0 ? first : second).Open();
    (i == 0 ? second : first).Wait();
    return {};
  }));
}

TEST(ParallelFor, ReportsTheFailureWithTheLowestIndex) {
  // Step 0 fails only after step 1 has.
  Gate later;
  const Error error = ErrorOf(ParallelFor(2, 2, {}, [&](uint64_t i) -> Result<void> {
    if (i == 0) {
      later.Wait();
    } else {
      later.Open();
    }
    return Fail(ErrorKind::kCorrupt, "step " + std::to_string(i));
  }));
  EXPECT_EQ(error.message(), "step 0");
}

TEST(ParallelFor, StartsNothingAfterAFailure) {
  std::atomic<uint64_t> calls = 0;
  const Error error = ErrorOf(ParallelFor(1'000'000, 1, {}, [&](uint64_t i) -> Result<void> {
    ++calls;
    if (i == 3) return Fail(ErrorKind::kIo, "disk");
    return {};
  }));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(calls.load(), 4u);
}

TEST(ParallelFor, IsCancelledByItsStopToken) {
  std::stop_source stop;
  std::atomic<uint64_t> calls = 0;
  const Error error = ErrorOf(ParallelFor(1'000'000, 3, stop.get_token(), [&](uint64_t) -> Result<void> {
    if (++calls == 10) stop.request_stop();
    return {};
  }));
  EXPECT_EQ(error.kind(), ErrorKind::kCancelled);
  EXPECT_LT(calls.load(), 1'000'000u);
}

TEST(ParallelFor, PrefersARealFailureToCancellation) {
  // Step 0 gives up because step 1 failed, and says so with the lower index.
  for (int round = 0; round < 50; ++round) {
    Gate failed;
    const Error error = ErrorOf(ParallelFor(2, 2, {}, [&](uint64_t i) -> Result<void> {
      if (i == 1) {
        failed.Open();
        return Fail(ErrorKind::kIo, "disk");
      }
      failed.Wait();
      return Fail(ErrorKind::kCancelled, "echo");
    }));
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
  }
}

TEST(ParallelFor, TurnsExceptionsIntoErrors) {
  for (const unsigned jobs : {1u, 4u}) {
    const Error error = ErrorOf(ParallelFor(100, jobs, {}, [](uint64_t i) -> Result<void> {
      if (i == 50) throw std::runtime_error("thrown");
      return {};
    }));
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_EQ(error.message(), "thrown");
    EXPECT_EQ(ErrorOf(ParallelFor(4, jobs, {}, [](uint64_t) -> Result<void> { throw 7; })).kind(),
              ErrorKind::kInternal);
  }
}

}  // namespace
}  // namespace dcpctl
