#include "ranks/courier.h"

#include <algorithm>
#include <cstdlib>

#include "base/result.h"

namespace dcpctl::ranks {
namespace {

constexpr int kBeatTag = 0;
constexpr int kLeaveTag = 1;
// What may wait to be sent before PostWhenRoom waits, too.
constexpr uint64_t kMostUnsent = uint64_t{16} << 20;
// How long to wait for messages before looking again. Looking costs a microsecond or two, and libraries have no way of
// waiting that leaves the core to others.
constexpr auto kBusyPause = std::chrono::microseconds(20);
constexpr auto kTakerPause = std::chrono::microseconds(100);
constexpr auto kIdlePause = std::chrono::microseconds(500);
constexpr auto kBusyTime = std::chrono::milliseconds(2);
// Large messages move on only while the library is called: no pause then, but not for long when nothing arrives.
constexpr auto kMovingTime = std::chrono::milliseconds(50);
constexpr int kGaveUp = 3;  // the status of a process that could not end in order

std::string Seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

Result<std::unique_ptr<Courier>> Courier::Start(std::unique_ptr<Transport> transport, const CourierTiming& timing,
                                                std::function<void(const Error&)> on_lost) {
  std::unique_ptr<Courier> courier(new Courier(std::move(transport), timing, std::move(on_lost)));
  courier->thread_ = std::jthread([self = courier.get()] { self->Work(); });
  std::unique_lock lock(courier->mutex_);
  courier->changed_.wait(lock, [&] { return courier->state_ != State::kOpening; });
  if (courier->open_error_) return Fail(*courier->open_error_);
  lock.unlock();
  return courier;
}

Courier::~Courier() { Leave(0); }

void Courier::Work() {
  auto opened = transport_->Open();
  {
    const std::lock_guard lock(mutex_);
    rank_ = transport_->rank();
    size_ = transport_->size();
    takes_cuda_ = opened.has_value() && transport_->TakesCuda();
    if (!opened) open_error_ = std::move(opened).error();
    state_ = open_error_ ? State::kLeft : State::kRunning;
    heard_.assign(size_, Clock::now());
    next_beat_ = Clock::now() + timing_.beat;
  }
  changed_.notify_all();
  if (open_error_) return;
  auto carried = Carry();
  if (!carried) {
    {
      const std::lock_guard lock(mutex_);
      if (state_ == State::kRunning) state_ = State::kBroken;
    }
    changed_.notify_all();
    Lose(carried.error());
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ == State::kLeaving || state_ == State::kAborting; });
  const bool in_order = carried.has_value() && state_ == State::kLeaving;
  lock.unlock();
  if (in_order) {
    (void)transport_->Close().has_value();
  } else {
    transport_->Abort(status_ != 0 ? status_ : kGaveUp);
  }
  lock.lock();
  state_ = State::kLeft;
  lock.unlock();
  changed_.notify_all();
}

// Until it is time to leave and all is sent.
Result<void> Courier::Carry() {
  Clock::time_point last_message;
  for (;;) {
    std::deque<Message> outgoing;
    bool aborts = false;
    {
      const std::lock_guard lock(mutex_);
      aborts = state_ == State::kAborting;
      outgoing.swap(outgoing_);
      if (state_ == State::kLeaving && outgoing.empty() && transport_->unsent() == 0) return {};
    }
    DCPCTL_ASSIGN(const bool moved, Exchange(outgoing));
    if (aborts) return {};  // with the last word sent
    DCPCTL_TRY(BeatAndListen());
    if (moved) {
      last_message = Clock::now();
    } else {
      Pause(last_message);
    }
  }
}

// Whether anything was there to send or receive.
Result<bool> Courier::Exchange(std::deque<Message>& outgoing) {
  const bool sends = !outgoing.empty();
  for (Message& message : outgoing) DCPCTL_TRY(transport_->Send(message.from, message.tag, std::move(message.bytes)));
  const uint64_t before = transport_->unsent();
  DCPCTL_ASSIGN(std::optional<Message> message, transport_->Poll(placer_));
  const bool receives = message.has_value();
  if (message) Deliver(*std::move(message));
  if (sends || transport_->unsent() != before) {
    const std::lock_guard lock(mutex_);
    outgoing_bytes_ = transport_->unsent();
    for (const Message& waiting : outgoing_) outgoing_bytes_ += waiting.bytes.size() + 1;
    changed_.notify_all();
  }
  return sends || receives;
}

// All processes hear from the first, and the first from all.
Result<void> Courier::BeatAndListen() {
  const auto now = Clock::now();
  const unsigned end = rank_ == 0 ? size_ : std::min(size_, 1U);
  if (now >= next_beat_) {
    next_beat_ = now + timing_.beat;
    for (unsigned other = 0; other < end; ++other) {
      if (other != rank_) DCPCTL_TRY(transport_->Send(other, kBeatTag, {}));
    }
  }
  for (unsigned other = 0; other < end && !told_lost_; ++other) {
    if (other == rank_ || now - heard_[other] < timing_.silence) continue;
    Lose(Error(ErrorKind::kIo, "no word from process " + std::to_string(other) + " for " + Seconds(timing_.silence)));
  }
  return {};
}

void Courier::Pause(Clock::time_point last_message) {
  const auto quiet = Clock::now() - last_message;
  if (transport_->moving() && quiet < kMovingTime) return std::this_thread::yield();
  std::unique_lock lock(mutex_);
  const auto pause = quiet < kBusyTime ? kBusyPause : takers_ > 0 ? kTakerPause : kIdlePause;
  changed_.wait_for(lock, pause, [this] { return !outgoing_.empty() || state_ == State::kAborting; });
}

void Courier::Deliver(Message message) {
  heard_[message.from] = Clock::now();
  if (message.tag == kBeatTag) return;
  if (const auto then = TakeLanding(message)) {
    if (*then) (*then)(message.landed);
    return;
  }
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    const auto found = handlers_.find(message.tag);
    if (found == handlers_.end()) {
      inbox_[{message.from, message.tag}].push_back(std::move(message.bytes));
    } else {
      handler = found->second;
    }
  }
  changed_.notify_all();
  if (handler) handler(message.from, std::move(message.bytes));
}

// Asked by the transport. A landing that is under way cannot be called off.
std::optional<DevicePart> Courier::PlaceFor(unsigned from, int tag, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto landing = landings_.find({from, tag});
  if (landing == landings_.end() || !landing->second.place || landing->second.place->bytes != bytes)
    return std::nullopt;
  return std::exchange(landing->second.place, std::nullopt);
}

// Whom to tell that a message that was to land has come, if anybody; nothing for other messages.
std::optional<Courier::Landed> Courier::TakeLanding(const Message& message) {
  const std::lock_guard lock(mutex_);
  const auto landing = landings_.find({message.from, message.tag});
  if (landing == landings_.end()) return std::nullopt;
  std::optional<Landed> then = std::move(landing->second.then);
  landings_.erase(landing);
  return then;
}

void Courier::Lose(const Error& error) {
  if (!std::exchange(told_lost_, true)) on_lost_(error);
}

void Courier::Handle(int tag, Handler handler) {
  std::vector<std::pair<unsigned, std::string>> early;
  {
    const std::lock_guard lock(mutex_);
    handlers_[tag] = handler;
    for (auto& [key, messages] : inbox_) {
      if (key.second != tag) continue;
      for (std::string& bytes : messages) early.emplace_back(key.first, std::move(bytes));
      messages.clear();
    }
  }
  for (auto& [from, bytes] : early) handler(from, std::move(bytes));
}

void Courier::Expect(unsigned from, int tag, DevicePart place, Landed then) {
  const std::lock_guard lock(mutex_);
  landings_[{from, tag}] = {.place = std::move(place), .then = std::move(then)};
}

void Courier::Renounce(unsigned from, int tag) {
  Landing unwanted;  // let go of without the lock: it may be the last that holds the memory
  const std::lock_guard lock(mutex_);
  const auto landing = landings_.find({from, tag});
  if (landing != landings_.end()) std::swap(unwanted, landing->second);
}

void Courier::Post(unsigned to, int tag, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    outgoing_bytes_ += bytes.size() + 1;
    outgoing_.push_back({.from = to, .tag = tag, .bytes = std::move(bytes)});
  }
  changed_.notify_all();
}

Result<void> Courier::PostWhenRoom(unsigned to, int tag, std::string bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool room =
      changed_.wait(lock, stop, [this] { return outgoing_bytes_ < kMostUnsent || state_ != State::kRunning; });
  if (!room || state_ != State::kRunning) return Fail(ErrorKind::kCancelled, "stopped");
  lock.unlock();
  Post(to, tag, std::move(bytes));
  return {};
}

std::optional<std::string> Courier::TakeNow(unsigned from, int tag) {
  const auto found = inbox_.find({from, tag});
  if (found == inbox_.end() || found->second.empty()) return std::nullopt;
  std::string bytes = std::move(found->second.front());
  found->second.pop_front();
  return bytes;
}

Result<std::string> Courier::Take(unsigned from, int tag, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::optional<std::string> bytes;
  ++takers_;
  changed_.wait(lock, stop, [&] { return (bytes = TakeNow(from, tag)) || state_ != State::kRunning; });
  --takers_;
  if (bytes) return *std::move(bytes);
  return Fail(ErrorKind::kCancelled, "stopped");
}

std::optional<std::string> Courier::TakeWithin(unsigned from, int tag, std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  std::optional<std::string> bytes;
  ++takers_;
  changed_.wait_for(lock, time, [&] { return (bytes = TakeNow(from, tag)) || state_ != State::kRunning; });
  --takers_;
  return bytes;
}

// The first process waits for a word of each, then tells all: when they part, no message is under way.
void Courier::Leave(int status) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kLeft) return;
    if (status != 0) status_ = status;
  }
  const auto until = Clock::now() + timing_.close;
  bool together = status == 0;
  const auto wait_for = [&](unsigned other) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    together = together && TakeWithin(other, kLeaveTag, std::max(left, left.zero())).has_value();
  };
  if (together && rank_ != 0) {
    Post(0, kLeaveTag, {});
    wait_for(0);
  }
  for (unsigned other = 1; rank_ == 0 && other < size_; ++other) wait_for(other);
  for (unsigned other = 1; rank_ == 0 && together && other < size_; ++other) Post(other, kLeaveTag, {});
  std::unique_lock lock(mutex_);
  state_ = together ? State::kLeaving : State::kAborting;
  changed_.notify_all();
  // The library may wait for a process that is gone.
  if (!changed_.wait_until(lock, until + timing_.close, [this] { return state_ == State::kLeft; }))
    std::_Exit(status_ != 0 ? status_ : kGaveUp);
}

}  // namespace dcpctl::ranks
