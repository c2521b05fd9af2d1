#include "engine/buffer_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace dcpctl::engine {
namespace {

TEST(BufferPool, LendsDifferentBuffersOfItsSize) {
  BufferPool pool(3, 100);
  const auto a = pool.Take();
  const auto b = pool.Take();
  const auto c = pool.Take();
  EXPECT_EQ((std::set{a.bytes().data(), b.bytes().data(), c.bytes().data()}.size()), 3u);
  EXPECT_EQ(c.bytes().size(), 100u);
}

TEST(BufferPool, LendsAReturnedBufferAgain) {
  BufferPool pool(1, 100);
  const std::byte* first = pool.Take().bytes().data();
  EXPECT_EQ(pool.Take().bytes().data(), first);
}

TEST(BufferPool, TakesABufferBackFromWhoeverHasItLast) {
  BufferPool pool(1, 100);
  {
    auto lease = pool.Take();
    const auto moved = std::move(lease);
    EXPECT_EQ(moved.bytes().size(), 100u);
  }
  EXPECT_EQ(pool.Take().bytes().size(), 100u);
}

TEST(BufferPool, WaitsWhenAllAreLent) {
  constexpr int kBuffers = 2;
  BufferPool pool(kBuffers, 8);
  std::atomic<int> lent = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          const auto lease = pool.Take();
          const int now = ++lent;
          int seen = most.load();
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          lease.bytes()[0] = static_cast<std::byte>(i);  // TSan sees two holders of one buffer
          std::this_thread::yield();
          --lent;
        }
      });
    }
  }
  EXPECT_GE(most.load(), 1);
  EXPECT_LE(most.load(), kBuffers);
}

}  // namespace
}  // namespace dcpctl::engine
