#include "ranks/file_exchange.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/crc32.h"
#include "support/memory_file_system.h"
#include "support/memory_network.h"
#include "support/memory_of_device.h"
#include "support/result.h"

namespace dcpctl::ranks {
namespace {

using namespace std::chrono_literals;
using test::BytesOf;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::MemoryNetwork;
using test::MemoryOfDevice;
using test::Value;
using ::testing::HasSubstr;

// Long enough for a loaded machine; nothing waits so long unless it fails.
constexpr CrewTiming kPatient{
    .courier = {.beat = 50ms, .silence = 20'000ms, .close = 5'000ms}, .grace = 10'000ms, .signal_grace = 10'000ms};
// For tests in which somebody has to be given up.
constexpr CrewTiming kImpatient{
    .courier = {.beat = 50ms, .silence = 1'000ms, .close = 1'000ms}, .grace = 500ms, .signal_grace = 500ms};

// Two processes: the second has the file.
class Exchange : public ::testing::Test {
 protected:
  using Work = std::function<Result<void>(Crew& crew, FileExchange& exchange)>;

  Exchange() {
    // Two messages and a bit.
    for (size_t i = 0; bytes_.size() < 9'000'000; ++i) bytes_ += std::to_string(i * 7);
    files_.Put("/ckpt/data", bytes_);
    seen_ = Value(io::ListSeen(files_, "/ckpt"));
  }

  // The first works, the second waits for the end. Returns what the first concluded with; no text is no error.
  std::string Run(const Work& work, const CrewTiming& timing = kPatient) {
    std::string end;
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const auto crew =
            Value(Crew::Join(network_.Endpoint(rank), rank == 0 ? user_.get_token() : std::stop_token(), timing));
        Result<void> done;
        {
          FileExchange exchange(*crew, rank == 0 ? empty_ : files_, "/ckpt",
                                rank == 0 ? std::vector<io::SeenFile>() : seen_);
          if (rank == 0) done = work(*crew, exchange);
          done = crew->Conclude(std::move(done));
        }
        if (rank == 0 && !done) end = done.error().ToString();
        crew->Leave(3);
      });
    }
    threads.clear();
    return end;
  }

  std::shared_ptr<MemoryOfDevice> memory_ = std::make_shared<MemoryOfDevice>(9'000'000);
  std::string bytes_;
  MemoryFileSystem empty_;
  MemoryFileSystem files_;
  std::vector<io::SeenFile> seen_;
  MemoryNetwork network_{2};
  std::stop_source user_;
};

TEST_F(Exchange, FetchesBytes) {
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    for (const uint64_t size : {uint64_t{1}, uint64_t{4} << 20, uint64_t{8'999'000}}) {
      std::string found(size, '?');
      DCPCTL_TRY(exchange.Fetch(1, "data", 17, std::as_writable_bytes(std::span(found))));
      EXPECT_TRUE(found == bytes_.substr(17, size)) << size;
    }
    return exchange.Fetch(1, "data", 0, {});
  });
  EXPECT_EQ(end, "");
  EXPECT_EQ(network_.landings(), 0U);
}

TEST_F(Exchange, LandsBytesInMemoryOfADevice) {
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    uint64_t at = 0;
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{4} << 20, (uint64_t{4} << 20) + 1}) {
      const DevicePart part{.memory = memory_, .begin = at, .bytes = size};
      DCPCTL_ASSIGN(const auto crc, exchange.Land(1, "data", 17 + at, part));
      EXPECT_EQ(crc, Crc32(BytesOf(bytes_).subspan(17 + at, size)));
      at += size;
    }
    EXPECT_TRUE(memory_->Text().substr(0, at) == bytes_.substr(17, at));
    EXPECT_EQ(memory_->Text().substr(at), std::string(9'000'000 - at, '\0'));
    EXPECT_EQ(network_.landings(), 4U);
    return {};
  });
  EXPECT_EQ(end, "");
  EXPECT_EQ(memory_.use_count(), 1);
}

TEST_F(Exchange, LandsBytesForManyThreads) {
  constexpr uint64_t kPart = 100'000;
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    std::atomic<uint64_t> next = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (uint64_t at = kPart * next++; at < 9'000'000; at = kPart * next++)
          EXPECT_TRUE(Value(exchange.Land(1, "data", at, {.memory = memory_, .begin = at, .bytes = kPart})));
      });
    }
    return {};
  });
  EXPECT_EQ(end, "");
  EXPECT_TRUE(memory_->Text() == bytes_.substr(0, 9'000'000));
}

TEST_F(Exchange, LeavesMemoryAloneThatTheLibraryDoesNotKnow) {
  const auto apart = std::make_shared<MemoryOfDevice>(10, MemoryKind::kCuda);
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    EXPECT_FALSE(exchange.CanLandIn(MemoryKind::kCuda));
    EXPECT_EQ(Value(exchange.Land(1, "data", 0, {.memory = apart, .begin = 0, .bytes = 10})), std::nullopt);
    return {};
  });
  EXPECT_EQ(end, "");
  EXPECT_EQ(apart->Text(), std::string(10, '\0'));
}

// No more messages can be told apart.
TEST_F(Exchange, LandsNothingWithoutATag) {
  const auto much = std::make_shared<MemoryOfDevice>(1);
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    EXPECT_EQ(Value(exchange.Land(1, "data", 0, {.memory = much, .begin = 0, .bytes = uint64_t{1} << 40})),
              std::nullopt);
    return {};
  });
  EXPECT_EQ(end, "");
}

TEST_F(Exchange, TellsWhatWentWrongThere) {
  const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
    const DevicePart part{.memory = memory_, .begin = 0, .bytes = 5'000'000};
    EXPECT_THAT(ErrorOf(exchange.Land(1, "other", 0, part)).Text(), HasSubstr("(read by process 1)"));
    EXPECT_EQ(memory_.use_count(), 2);  // nobody else waits for bytes
    return Fail(ErrorOf(exchange.Land(1, "data", bytes_.size() - 10, part)));
  });
  EXPECT_THAT(end, HasSubstr("/ckpt/data:0x"));
  EXPECT_THAT(end, HasSubstr("(read by process 1; process 0 of 2)"));
  EXPECT_EQ(memory_.use_count(), 1);
}

TEST_F(Exchange, RefusesBytesOfAnotherLength) {
  for (const bool more : {false, true}) {
    network_.Alter(FileExchange::kFirstLandingTag, [&](Message& message) {
      if (more) {
        message.bytes += "more than asked for";
      } else {
        message.bytes.pop_back();
      }
    });
    const std::string end = Run([&](Crew&, FileExchange& exchange) -> Result<void> {
      DCPCTL_TRY(exchange.Land(1, "data", 0, {.memory = memory_, .begin = 10, .bytes = 20}));
      return {};
    });
    EXPECT_THAT(end, HasSubstr("bytes of another length were sent (read by process 1"));
    EXPECT_EQ(memory_->Text(), std::string(9'000'000, '\0'));
  }
}

TEST_F(Exchange, KeepsMemoryOnceStopped) {
  auto memory = std::make_shared<MemoryOfDevice>(20);
  const std::weak_ptr<MemoryOfDevice> watched = memory;
  const std::string end = Run([&](Crew& crew, FileExchange& exchange) -> Result<void> {
    network_.HoldLandings(true);
    const std::jthread stops([&] {
      while (network_.landings() == 0) std::this_thread::sleep_for(1ms);
      user_.request_stop();
    });
    auto landed = exchange.Land(1, "data", 0, {.memory = std::move(memory), .begin = 0, .bytes = 20});
    EXPECT_EQ(ErrorOf(landed).kind(), ErrorKind::kCancelled);
    EXPECT_TRUE(crew.stop().stop_requested());
    EXPECT_FALSE(watched.expired());
    network_.HoldLandings(false);
    while (!watched.expired()) std::this_thread::sleep_for(1ms);
    return Fail(ErrorOf(landed));
  });
  EXPECT_THAT(end, HasSubstr("stopped"));
  EXPECT_EQ(network_.aborted(), 0);
}

// Its bytes may be half there, and the library still be waiting for the rest.
TEST_F(Exchange, KeepsMemoryOnceTheOtherIsGone) {
  auto memory = std::make_shared<MemoryOfDevice>(20);
  const std::weak_ptr<MemoryOfDevice> watched = memory;
  const std::string end = Run(
      [&](Crew&, FileExchange& exchange) -> Result<void> {
        network_.HoldLandings(true);
        const std::jthread loses([&] {
          while (network_.landings() == 0) std::this_thread::sleep_for(1ms);
          network_.Lose(1);
        });
        auto landed = exchange.Land(1, "data", 0, {.memory = std::move(memory), .begin = 0, .bytes = 20});
        EXPECT_FALSE(watched.expired());
        return Fail(ErrorOf(landed));
      },
      kImpatient);
  EXPECT_THAT(end, HasSubstr("no word from process 1"));
  EXPECT_EQ(network_.aborted(), 3);
}

}  // namespace
}  // namespace dcpctl::ranks
