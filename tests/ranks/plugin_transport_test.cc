#include "ranks/plugin_transport.h"

#include <gmock/gmock.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_of_device.h"
#include "support/result.h"

namespace dcpctl::ranks {
namespace {

using test::Value;
using ::testing::HasSubstr;

// A library that gives what the test has put into it. Its functions have no argument for a state.
struct Transfer {
  bool done = false;
  std::string bytes = {};  // that are received when it is done
  void* to = nullptr;
};
struct Incoming {
  int32_t from = 0;
  std::string bytes;
  bool arrives = true;
};
struct Library {
  std::deque<Incoming> incoming;
  std::vector<std::unique_ptr<Transfer>> transfers;
  bool fails = false;
  int32_t takes_cuda = 0;
};
std::unique_ptr<Library> library;

int Answer(plugin::ErrorTextV1* error) {
  if (library->fails) std::strcpy(error->text, "link is down");
  return library->fails ? 1 : 0;
}

void* NewTransfer(bool done) {
  library->transfers.push_back(std::make_unique<Transfer>(Transfer{.done = done}));
  return library->transfers.back().get();
}

const plugin::CommV1 kTable = {
    .open =
        [](int32_t* rank, int32_t* size, plugin::ErrorTextV1* error) {
          *rank = 1;
          *size = 3;
          return Answer(error);
        },
    .start_send =
        [](int32_t, int32_t, const void*, int32_t, void** transfer, plugin::ErrorTextV1* error) {
          *transfer = NewTransfer(false);
          return Answer(error);
        },
    .probe =
        [](plugin::CommMessage* message, int32_t* found, plugin::ErrorTextV1* error) {
          *found = library->incoming.empty() ? 0 : 1;
          if (*found != 0) {
            const Incoming& next = library->incoming.front();
            *message = {.from = next.from, .tag = 5, .bytes = static_cast<int32_t>(next.bytes.size())};
          }
          return Answer(error);
        },
    .start_receive =
        [](const plugin::CommMessage*, void* bytes, void** transfer, plugin::ErrorTextV1* error) {
          const Incoming next = std::move(library->incoming.front());
          library->incoming.pop_front();
          *transfer = NewTransfer(next.arrives);
          *library->transfers.back() = {.done = next.arrives, .bytes = next.bytes, .to = bytes};
          return Answer(error);
        },
    .is_done =
        [](void* transfer, int32_t* done, plugin::ErrorTextV1* error) {
          const auto* const asked = static_cast<Transfer*>(transfer);
          *done = asked->done ? 1 : 0;
          if (asked->done && asked->to != nullptr) std::memcpy(asked->to, asked->bytes.data(), asked->bytes.size());
          return Answer(error);
        },
    .takes_cuda = [] { return library->takes_cuda; },
    .close = [](plugin::ErrorTextV1* error) { return Answer(error); },
    .abort = [](int32_t) {},
};

class PluginTransportTest : public testing::Test {
 protected:
  PluginTransportTest() { library = std::make_unique<Library>(); }
  ~PluginTransportTest() override { library.reset(); }

  // "RANK:BYTES", with "landed" for bytes that are in place_; or nothing.
  std::string Next() {
    const auto placer = [this](unsigned, int, uint64_t bytes) {
      return place_ && place_->bytes == bytes ? std::exchange(place_, std::nullopt) : std::nullopt;
    };
    const std::optional<Message> message = Value(transport_.Poll(placer));
    if (!message) return "";
    return std::to_string(message->from) + ":" + (message->landed ? "landed" : "") + message->bytes;
  }

  std::optional<DevicePart> place_;
  PluginTransport transport_{kTable};
};

TEST_F(PluginTransportTest, PassesMessagesOn) {
  Value(transport_.Open());
  EXPECT_EQ(transport_.rank(), 1U);
  EXPECT_EQ(transport_.size(), 3U);
  library->incoming = {{.from = 0, .bytes = "a"}, {.from = 2, .bytes = ""}};
  EXPECT_EQ(Next(), "0:a");
  EXPECT_EQ(Next(), "2:");
  EXPECT_EQ(Next(), "");
}

// A process that is stopped in the middle of a message must not hide that the others are alive.
TEST_F(PluginTransportTest, DoesNotWaitForAMessageThatDoesNotArrive) {
  library->incoming = {
      {.from = 0, .bytes = "cut", .arrives = false}, {.from = 0, .bytes = "behind it"}, {.from = 2, .bytes = "other"}};
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(Next(), "2:other");
  EXPECT_TRUE(transport_.moving());
  library->transfers[0]->done = true;
  EXPECT_EQ(Next(), "0:cut");
  EXPECT_EQ(Next(), "0:behind it");
  EXPECT_FALSE(transport_.moving());
}

TEST_F(PluginTransportTest, KnowsWhatIsNotSentYet) {
  Value(transport_.Send(0, 5, "12345"));
  Value(transport_.Send(2, 5, "1"));
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(transport_.unsent(), 8U);
  for (const auto& transfer : library->transfers) transfer->done = true;
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(transport_.unsent(), 0U);
  EXPECT_FALSE(transport_.moving());
}

TEST_F(PluginTransportTest, ReceivesIntoOtherMemory) {
  const auto memory = std::make_shared<test::MemoryOfDevice>(8);
  place_ = DevicePart{.memory = memory, .begin = 2, .bytes = 4};
  library->incoming = {{.from = 0, .bytes = "longer"}, {.from = 0, .bytes = "1234"}, {.from = 2, .bytes = "abcd"}};
  EXPECT_EQ(Next(), "0:longer");
  EXPECT_EQ(memory->made_current(), 0U);
  EXPECT_EQ(Next(), "0:landed");
  EXPECT_EQ(memory->made_current(), 1U);
  EXPECT_EQ(memory->Text(), std::string("\0\0001234\0\0", 8));
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_EQ(Next(), "2:abcd");
}

// The library writes there, whatever has become of who wanted it.
TEST_F(PluginTransportTest, KeepsMemoryThatAMessageIsOnItsWayTo) {
  auto memory = std::make_shared<test::MemoryOfDevice>(4);
  const std::weak_ptr<test::MemoryOfDevice> watched = memory;
  place_ = DevicePart{.memory = std::move(memory), .begin = 0, .bytes = 4};
  library->incoming = {{.from = 0, .bytes = "1234", .arrives = false}};
  EXPECT_EQ(Next(), "");
  EXPECT_FALSE(place_);
  EXPECT_FALSE(watched.expired());
  library->transfers[0]->done = true;
  EXPECT_EQ(Next(), "0:landed");
  EXPECT_TRUE(watched.expired());
}

TEST_F(PluginTransportTest, SaysWhetherTheLibraryTakesMemoryOfCuda) {
  EXPECT_FALSE(transport_.TakesCuda());
  library->takes_cuda = 1;
  EXPECT_TRUE(transport_.TakesCuda());
}

TEST_F(PluginTransportTest, TellsWhatTheLibrarySays) {
  library->fails = true;
  EXPECT_THAT(test::ErrorOf(transport_.Poll({})).Text(), HasSubstr("cannot talk to each other: link is down"));
  EXPECT_EQ(test::ErrorOf(transport_.Close()).kind(), ErrorKind::kIo);
}

}  // namespace
}  // namespace dcpctl::ranks
