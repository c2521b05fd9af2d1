#include "ranks/crew.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/memory_network.h"
#include "support/memory_of_device.h"
#include "support/result.h"

namespace dcpctl::ranks {
namespace {

using namespace std::chrono_literals;
using test::ErrorOf;
using test::MemoryNetwork;
using test::Value;
using ::testing::HasSubstr;

// Long enough for a loaded machine; nothing waits so long unless it fails.
constexpr CrewTiming kPatient{
    .courier = {.beat = 50ms, .silence = 20'000ms, .close = 5'000ms}, .grace = 10'000ms, .signal_grace = 10'000ms};
// For tests in which somebody has to be given up.
constexpr CrewTiming kImpatient{
    .courier = {.beat = 50ms, .silence = 2'000ms, .close = 1'000ms}, .grace = 500ms, .signal_grace = 500ms};

// Runs `work` as each of `size` processes, and returns what each concluded with; no text is no error.
std::vector<std::string> RunAll(MemoryNetwork& network, unsigned size,
                                const std::function<Result<void>(Crew& crew)>& work,
                                const CrewTiming& timing = kPatient) {
  std::vector<std::string> ends(size);
  std::vector<std::jthread> threads;
  for (unsigned rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto crew = Value(Crew::Join(network.Endpoint(rank), {}, timing));
      const auto end = crew->Conclude(work(*crew));
      if (!end) ends[rank] = end.error().Text();
      crew->Leave(3);
    });
  }
  threads.clear();
  return ends;
}

class CrewOf : public ::testing::TestWithParam<unsigned> {};

TEST_P(CrewOf, BroadcastsAndGathers) {
  MemoryNetwork network(GetParam());
  const std::string large(9'000'000, 'x');
  const auto ends = RunAll(network, GetParam(), [&](Crew& crew) -> Result<void> {
    for (const std::string& text : {std::string("small"), std::string(), large}) {
      EXPECT_EQ(Value(crew.Broadcast(crew.leads() ? text : "not this")), text);
    }
    const auto all = Value(crew.Gather("from " + std::to_string(crew.rank())));
    EXPECT_EQ(all.size(), GetParam());
    for (unsigned rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], "from " + std::to_string(rank));
    return {};
  });
  EXPECT_THAT(ends, ::testing::Each(""));
  EXPECT_EQ(network.aborted(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CrewOf, ::testing::Values(1, 2, 3, 7, 8));

TEST(Crew, EndsWithTheErrorOfTheFirstRankThatHasOne) {
  MemoryNetwork network(4);
  const auto ends = RunAll(network, 4, [](Crew& crew) -> Result<void> {
    // Both have failed before either is told to stop.
    DCPCTL_TRY(crew.Gather(""));
    if (crew.rank() == 3) return Fail(ErrorKind::kCorrupt, "three");
    if (crew.rank() == 2) return Fail(Place{"f", 7}, ErrorKind::kCorrupt, "two");
    return {};
  });
  EXPECT_EQ(ends, std::vector<std::string>(4, "two (process 2 of 4)"));
}

TEST(Crew, StopsTheOthersWhenOneFails) {
  for (unsigned failing = 0; failing < 3; ++failing) {
    MemoryNetwork network(3);
    const auto start = std::chrono::steady_clock::now();
    const auto ends = RunAll(network, 3, [&](Crew& crew) -> Result<void> {
      if (crew.rank() == failing) return Fail(ErrorKind::kIo, "broken");
      // Waits for one that never comes.
      auto told = crew.Gather("");
      EXPECT_EQ(ErrorOf(told).kind(), ErrorKind::kCancelled);
      EXPECT_TRUE(crew.stop().stop_requested());
      return Fail(told.error());
    });
    EXPECT_EQ(ends, std::vector<std::string>(3, "broken (process " + std::to_string(failing) + " of 3)"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
    EXPECT_EQ(network.aborted(), 0);
  }
}

TEST(Crew, EndsByForceWhoDoesNotStop) {
  MemoryNetwork network(2);
  const auto ends = RunAll(
      network, 2,
      [](Crew& crew) -> Result<void> {
        if (crew.leads()) return Fail(ErrorKind::kIo, "broken");
        std::this_thread::sleep_for(2'500ms);
        return {};
      },
      kImpatient);
  EXPECT_EQ(ends[0], "broken (process 0 of 2)");
  EXPECT_EQ(network.aborted(), 3);
}

TEST(Crew, EndsWhenAProcessIsGone) {
  for (const unsigned gone : {0U, 1U}) {
    MemoryNetwork network(3);
    const auto ends = RunAll(
        network, 3,
        [&](Crew& crew) -> Result<void> {
          DCPCTL_TRY(crew.Gather(""));
          if (crew.rank() == gone) {
            network.Lose(gone);
            std::this_thread::sleep_for(100ms);
            return {};
          }
          return Fail(ErrorOf(crew.Gather("")));
        },
        kImpatient);
    EXPECT_THAT(ends[2], HasSubstr("no word from process " + std::to_string(gone)));
    EXPECT_EQ(network.aborted(), 3);
  }
}

TEST(Crew, StopsAllWhenTheUserStopsOne) {
  for (unsigned stopped = 0; stopped < 2; ++stopped) {
    MemoryNetwork network(2);
    std::vector<ErrorKind> ends(2, ErrorKind::kInternal);
    std::stop_source user;
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const auto crew =
            Value(Crew::Join(network.Endpoint(rank), rank == stopped ? user.get_token() : std::stop_token(), kPatient));
        if (rank == stopped) user.request_stop();
        auto waited = crew->courier().Take(1 - rank, Crew::kFirstFreeTag, crew->stop());
        const auto end = crew->Conclude(Fail(ErrorOf(waited)));
        ends[rank] = ErrorOf(end).kind();
        crew->Leave(3);
      });
    }
    threads.clear();
    EXPECT_THAT(ends, ::testing::Each(ErrorKind::kCancelled));
    EXPECT_EQ(network.aborted(), 0);
  }
}

TEST(Courier, GivesEarlyMessagesToAHandler) {
  MemoryNetwork network(2);
  const auto sender = Value(Courier::Start(network.Endpoint(0), kPatient.courier, [](const Error&) {}));
  const auto taker = Value(Courier::Start(network.Endpoint(1), kPatient.courier, [](const Error&) {}));
  for (const char* text : {"a", "b"}) sender->Post(1, Crew::kFirstFreeTag, text);
  sender->Post(1, Crew::kFirstFreeTag + 1, "last");
  EXPECT_EQ(Value(taker->Take(0, Crew::kFirstFreeTag + 1, {})), "last");
  std::string seen;
  taker->Handle(Crew::kFirstFreeTag, [&](unsigned from, const std::string& bytes) {
    EXPECT_EQ(from, 0U);
    seen += bytes;
  });
  EXPECT_EQ(seen, "ab");
  std::jthread leaves([&] { sender->Leave(0); });
  taker->Leave(0);
}

// Two of them. The first sends, the second has memory that messages land in.
class Landings : public ::testing::Test {
 protected:
  static constexpr int kTag = 1'000;

  ~Landings() override {
    std::jthread leaves([&] { sender_->Leave(0); });
    taker_->Leave(0);
  }

  // What `then` is called with goes to told_, unless nothing comes of it.
  DevicePart Expect(uint64_t begin, uint64_t bytes) {
    const DevicePart place{.memory = memory_, .begin = begin, .bytes = bytes};
    taker_->Expect(0, kTag, place, [this](bool landed) { told_.push_back(landed); });
    return place;
  }
  // Until all that was sent before is there.
  void Drain() {
    sender_->Post(1, Crew::kFirstFreeTag, "last");
    EXPECT_EQ(Value(taker_->Take(0, Crew::kFirstFreeTag, {})), "last");
  }

  MemoryNetwork network_{2};
  std::shared_ptr<test::MemoryOfDevice> memory_ = std::make_shared<test::MemoryOfDevice>(6);
  std::vector<bool> told_;
  const std::unique_ptr<Courier> sender_ =
      Value(Courier::Start(network_.Endpoint(0), kPatient.courier, [](const Error&) {}));
  const std::unique_ptr<Courier> taker_ =
      Value(Courier::Start(network_.Endpoint(1), kPatient.courier, [](const Error&) {}));
};

TEST_F(Landings, AreToldOf) {
  Expect(1, 4);
  sender_->Post(1, kTag, "1234");
  Drain();
  EXPECT_EQ(memory_->Text(), std::string("\0001234\0", 6));
  EXPECT_EQ(told_, std::vector<bool>{true});
  EXPECT_EQ(memory_.use_count(), 1);
}

TEST_F(Landings, AreOfTheRightLengthOrNone) {
  for (const char* bytes : {"123", "12345", "", "1234567"}) {
    Expect(1, 4);
    sender_->Post(1, kTag, bytes);
    Drain();
  }
  EXPECT_EQ(memory_->Text(), std::string(6, '\0'));
  EXPECT_EQ(told_, std::vector<bool>(4, false));
  EXPECT_EQ(memory_.use_count(), 1);
}

TEST_F(Landings, AreThrownAwayOnceRenounced) {
  Expect(1, 4);
  taker_->Renounce(0, kTag);
  EXPECT_EQ(memory_.use_count(), 1);
  sender_->Post(1, kTag, "1234");
  Drain();
  EXPECT_EQ(memory_->Text(), std::string(6, '\0'));
  EXPECT_THAT(told_, ::testing::IsEmpty());
  // The tag is free again.
  Expect(0, 2);
  sender_->Post(1, kTag, "ab");
  Drain();
  EXPECT_EQ(memory_->Text(), std::string("ab\0\0\0\0", 6));
}

TEST_F(Landings, KeepTheirMemoryWhenRenouncedUnderWay) {
  network_.HoldLandings(true);
  Expect(1, 4);
  sender_->Post(1, kTag, "1234");
  while (network_.landings() == 0) std::this_thread::sleep_for(1ms);
  taker_->Renounce(0, kTag);
  const std::weak_ptr<test::MemoryOfDevice> watched = memory_;
  memory_.reset();
  EXPECT_FALSE(watched.expired());
  network_.HoldLandings(false);
  Drain();
  EXPECT_TRUE(watched.expired());
  EXPECT_THAT(told_, ::testing::IsEmpty());
}

TEST_F(Landings, NeedALibraryThatKnowsTheMemory) {
  EXPECT_TRUE(taker_->CanLandIn(MemoryKind::kOrdinary));
  EXPECT_FALSE(taker_->CanLandIn(MemoryKind::kCuda));
  MemoryNetwork knows(1, true);
  EXPECT_TRUE(
      Value(Courier::Start(knows.Endpoint(0), kPatient.courier, [](const Error&) {}))->CanLandIn(MemoryKind::kCuda));
}

}  // namespace
}  // namespace dcpctl::ranks
