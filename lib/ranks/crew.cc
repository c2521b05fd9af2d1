#include "ranks/crew.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/byte_writer.h"
#include "base/result.h"
#include "base/wire.h"

namespace dcpctl::ranks {
namespace {

// The first two are the courier's.
enum Tag : int { kData = 2, kDone, kStop, kVerdict };

// Messages are no longer, so that what is under way is bounded.
constexpr uint64_t kPiece = uint64_t{4} << 20;

std::string Encode(const std::optional<Error>& outcome) {
  ByteWriter out;
  out.U8(outcome ? 1 : 0);
  if (outcome) WriteError(out, *outcome);
  return std::move(out).Take();
}

std::optional<Error> Decode(const std::string& bytes) {
  ByteCursor in = ReadMessage(bytes);
  if (in.U8("outcome") == 0) return std::nullopt;
  return ReadError(in);
}

std::string NameOf(unsigned rank, unsigned size) {
  return "process " + std::to_string(rank) + " of " + std::to_string(size);
}

}  // namespace

Result<std::unique_ptr<Crew>> Crew::Join(std::unique_ptr<Transport> transport, const std::stop_token& stop,
                                         const CrewTiming& timing) {
  std::unique_ptr<Crew> crew(new Crew(timing));
  const auto on_lost = [self = crew.get()](const Error& error) {
    {
      const std::lock_guard lock(self->mutex_);
      self->lost_ = error;
    }
    self->stop_.request_stop();
    self->changed_.notify_all();
  };
  DCPCTL_ASSIGN(crew->courier_, Courier::Start(std::move(transport), timing.courier, on_lost));
  crew->outcomes_.resize(crew->size());
  crew->user_stop_ = stop;
  crew->courier_->Handle(kStop, [self = crew.get()](unsigned, const std::string&) { self->stop_.request_stop(); });
  crew->courier_->Handle(kDone,
                         [self = crew.get()](unsigned from, const std::string& bytes) { self->OnDone(from, bytes); });
  crew->on_user_stop_.emplace(stop, [self = crew.get()] { self->stop_.request_stop(); });
  return crew;
}

Result<void> Crew::Send(unsigned to, std::string_view bytes) {
  DCPCTL_TRY(courier_->PostWhenRoom(to, kData, ByteWriter().U64(bytes.size()).bytes(), stop()));
  for (; !bytes.empty(); bytes.remove_prefix(std::min<uint64_t>(kPiece, bytes.size())))
    DCPCTL_TRY(courier_->PostWhenRoom(to, kData, std::string(bytes.substr(0, kPiece)), stop()));
  return {};
}

Result<std::string> Crew::Receive(unsigned from) {
  DCPCTL_ASSIGN(const std::string head, courier_->Take(from, kData, stop()));
  const uint64_t size = ReadMessage(head).U64("size");
  std::string bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    DCPCTL_ASSIGN(const std::string piece, courier_->Take(from, kData, stop()));
    bytes += piece;
  }
  return bytes;
}

// A tree: who has it passes it on, so that the first process does not send it as often as there are others.
Result<std::string> Crew::Broadcast(std::string mine) {
  unsigned reach = std::bit_ceil(size());
  if (!leads()) {
    reach = rank() & (~rank() + 1);  // the lowest bit: how far what hangs on this process reaches
    DCPCTL_ASSIGN(mine, Receive(rank() - reach));
  }
  for (unsigned step = reach / 2; step > 0; step /= 2) {
    if (rank() + step < size()) DCPCTL_TRY(Send(rank() + step, mine));
  }
  return mine;
}

Result<std::vector<std::string>> Crew::Gather(std::string mine) {
  ByteWriter all;
  if (leads()) {
    WriteText(all, mine);
    for (unsigned other = 1; other < size(); ++other) {
      DCPCTL_ASSIGN(const std::string theirs, Receive(other));
      WriteText(all, theirs);
    }
  } else {
    DCPCTL_TRY(Send(0, mine));
  }
  DCPCTL_ASSIGN(const std::string told, Broadcast(std::move(all).Take()));
  std::vector<std::string> parts;
  ByteCursor in = ReadMessage(told);
  for (unsigned i = 0; i < size(); ++i) parts.emplace_back(ReadText(in));
  return in.Finish(std::move(parts));
}

std::chrono::milliseconds Crew::Grace() const {
  return user_stop_.stop_requested() ? timing_.signal_grace : timing_.grace;
}

void Crew::StopAll() {
  for (unsigned other = 1; other < size(); ++other) courier_->Post(other, kStop, {});
  stop_.request_stop();
}

void Crew::OnDone(unsigned from, const std::string& bytes) {
  Outcome outcome = Decode(bytes);
  const bool failed = outcome.has_value();
  {
    const std::lock_guard lock(mutex_);
    outcomes_[from] = std::move(outcome);
  }
  changed_.notify_all();
  if (failed) StopAll();
}

Result<void> Crew::Conclude(Result<void> mine) {
  return leads() ? ConcludeAsLeader(std::move(mine)) : ConcludeAsOther(std::move(mine));
}

// Without a limit as long as all is well.
void Crew::WaitForAll() {
  std::unique_lock lock(mutex_);
  const auto all_done = [this] {
    return std::all_of(outcomes_.begin(), outcomes_.end(), [](const auto& outcome) { return outcome.has_value(); });
  };
  if (changed_.wait(lock, stop(), all_done)) return;
  changed_.wait_for(lock, Grace(), all_done);
}

// The first error that is more than having been stopped; who stopped for another's sake has nothing to tell.
Crew::Outcome Crew::Judge() {
  const std::lock_guard lock(mutex_);
  // What others then say follows from it.
  if (user_stop_.stop_requested() && *outcomes_[0] && (*outcomes_[0])->kind() == ErrorKind::kCancelled)
    return *outcomes_[0];
  Outcome stopped;
  Outcome missing;
  for (unsigned rank = 0; rank < size(); ++rank) {
    std::optional<Outcome>& done = outcomes_[rank];
    if (!done && !missing) {
      missing = Error(ErrorKind::kIo, NameOf(rank, size()) + " did not stop within " + std::to_string(Grace().count()) +
                                          " ms and was ended");
    }
    if (!done || !*done) continue;
    if ((*done)->kind() != ErrorKind::kCancelled)
      return size() > 1 ? std::move(**done).In(NameOf(rank, size())) : std::move(**done);
    stopped = **done;
  }
  // What all had to do together is done.
  if (!*outcomes_[0]) return std::nullopt;
  if (!missing && (user_stop_.stop_requested() || !lost_)) return stopped;
  if (stopped && user_stop_.stop_requested()) return stopped;
  return lost_ ? lost_ : missing;
}

Result<void> Crew::ConcludeAsLeader(Result<void> mine) {
  const bool failed = !mine;
  {
    const std::lock_guard lock(mutex_);
    outcomes_[0] = mine ? Outcome() : Outcome(std::move(mine).error());
  }
  if (failed) StopAll();
  WaitForAll();
  const Outcome verdict = Judge();
  for (unsigned other = 1; other < size(); ++other) courier_->Post(other, kVerdict, Encode(verdict));
  has_verdict_ = true;
  if (verdict) return Fail(*verdict);
  return {};
}

Result<void> Crew::ConcludeAsOther(Result<void> mine) {
  courier_->Post(0, kDone, Encode(mine ? Outcome() : Outcome(mine.error())));
  std::optional<std::string> told;
  if (auto in_time = courier_->Take(0, kVerdict, stop())) told = *std::move(in_time);
  // The leader waits for others as long, and then has to be heard.
  if (!told) told = courier_->TakeWithin(0, kVerdict, 2 * Grace());
  if (told) {
    has_verdict_ = true;
    if (const Outcome verdict = Decode(*told)) return Fail(*verdict);
    return {};
  }
  if (!mine && mine.error().kind() != ErrorKind::kCancelled) return mine;
  const std::lock_guard lock(mutex_);
  if (lost_) return Fail(*lost_);
  return Fail(ErrorKind::kCancelled, "stopped, and the first process did not say why");
}

void Crew::Leave(int status) {
  bool all_there = has_verdict_;
  {
    const std::lock_guard lock(mutex_);
    all_there = all_there && !lost_;
    if (leads()) {
      all_there = all_there && std::all_of(outcomes_.begin(), outcomes_.end(),
                                           [](const auto& outcome) { return outcome.has_value(); });
    }
  }
  courier_->Leave(all_there ? 0 : status);
}

}  // namespace dcpctl::ranks
