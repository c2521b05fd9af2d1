#include "ranks/plugin_transport.h"

#include <set>
#include <utility>

#include "base/result.h"

namespace dcpctl::ranks {
namespace {

// Calls a function of the table.
template <typename Fn, typename... Arguments>
Result<void> Call(Fn* function, Arguments... arguments) {
  plugin::ErrorTextV1 error;
  if (function(arguments..., &error) == 0) return {};
  return Fail(ErrorKind::kIo, "processes cannot talk to each other: " + std::string(error.text));
}

}  // namespace

Result<void> PluginTransport::Open() {
  int32_t rank = 0;
  int32_t size = 0;
  DCPCTL_TRY(Call(table_.open, &rank, &size));
  rank_ = static_cast<unsigned>(rank);
  size_ = static_cast<unsigned>(size);
  return {};
}

Result<void> PluginTransport::Send(unsigned to, int tag, std::string bytes) {
  sending_.push_back({.bytes = std::move(bytes)});
  Sending& sending = sending_.back();
  unsent_ += sending.bytes.size() + 1;
  return Call(table_.start_send, static_cast<int32_t>(to), static_cast<int32_t>(tag),
              static_cast<const void*>(sending.bytes.data()), static_cast<int32_t>(sending.bytes.size()),
              &sending.transfer);
}

Result<bool> PluginTransport::IsDone(void* transfer) const {
  int32_t done = 0;
  DCPCTL_TRY(Call(table_.is_done, transfer, &done));
  return done != 0;
}

// From the front, so that one message which nobody takes holds up what is behind it: that is but memory.
Result<void> PluginTransport::DropSent() {
  while (!sending_.empty()) {
    DCPCTL_ASSIGN(const bool sent, IsDone(sending_.front().transfer));
    if (!sent) return {};
    unsent_ -= sending_.front().bytes.size() + 1;
    sending_.pop_front();
  }
  return {};
}

Result<void> PluginTransport::StartReceiving(const Placer& placer) {
  plugin::CommMessage found{};
  int32_t is_there = 0;
  DCPCTL_TRY(Call(table_.probe, &found, &is_there));
  if (is_there == 0) return {};
  Receiving& receiving = receiving_.emplace_back();
  Message& message = receiving.message;
  message = {.from = static_cast<unsigned>(found.from), .tag = found.tag, .bytes = {}};
  receiving.place = placer(message.from, message.tag, static_cast<uint64_t>(found.bytes));
  message.landed = receiving.place.has_value();
  void* to = nullptr;
  if (receiving.place) {
    DCPCTL_TRY(receiving.place->memory->MakeCurrent());
    to = receiving.place->address();
  } else {
    message.bytes.resize(static_cast<size_t>(found.bytes));
    to = message.bytes.data();
  }
  return Call(table_.start_receive, static_cast<const plugin::CommMessage*>(&found), to, &receiving.transfer);
}

// One that does not arrive holds up what its sender sent later, and nobody else's.
Result<std::optional<Message>> PluginTransport::Poll(const Placer& placer) {
  DCPCTL_TRY(DropSent());
  DCPCTL_TRY(StartReceiving(placer));
  std::set<unsigned> waiting;
  for (auto receiving = receiving_.begin(); receiving != receiving_.end(); ++receiving) {
    if (!receiving->done) {
      DCPCTL_ASSIGN(receiving->done, IsDone(receiving->transfer));
    }
    if (!receiving->done) waiting.insert(receiving->message.from);
    if (waiting.contains(receiving->message.from)) continue;
    std::optional<Message> message = std::move(receiving->message);
    receiving_.erase(receiving);
    return message;
  }
  return std::optional<Message>();
}

Result<void> PluginTransport::Close() { return Call(table_.close); }

}  // namespace dcpctl::ranks
