// Processes that are threads: a transport between the ranks of a test, which can lose one of them.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ranks/transport.h"

namespace dcpctl::test {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(unsigned size, bool takes_cuda = false) : takes_cuda_(takes_cuda), inboxes_(size) {}

  // Must not outlive the network.
  std::unique_ptr<ranks::Transport> Endpoint(unsigned rank) { return std::make_unique<End>(*this, rank); }
  // From now on nothing reaches it or comes from it.
  void Lose(unsigned rank) {
    const std::lock_guard lock(mutex_);
    lost_.insert(rank);
  }
  // Changes messages with this tag or a higher one on their way.
  void Alter(int from_tag, std::function<void(ranks::Message& message)> change) {
    const std::lock_guard lock(mutex_);
    altered_ = from_tag;
    change_ = std::move(change);
  }
  // From now on what is to land is under way, and nothing comes behind it.
  void HoldLandings(bool hold) {
    const std::lock_guard lock(mutex_);
    hold_ = hold;
  }
  // How many are under way, or have arrived.
  unsigned landings() {
    const std::lock_guard lock(mutex_);
    return landings_;
  }
  // The status that a process asked to end all others with, or 0.
  int aborted() {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

 private:
  class End final : public ranks::Transport {
   public:
    End(MemoryNetwork& network, unsigned rank) : network_(network), rank_(rank) {}
    Result<void> Open() override { return {}; }
    [[nodiscard]] unsigned rank() const override { return rank_; }
    [[nodiscard]] unsigned size() const override { return static_cast<unsigned>(network_.inboxes_.size()); }
    Result<void> Send(unsigned to, int tag, std::string bytes) override {
      const std::lock_guard lock(network_.mutex_);
      if (network_.lost_.contains(rank_) || network_.lost_.contains(to)) return {};
      ranks::Message message{.from = rank_, .tag = tag, .bytes = std::move(bytes)};
      if (network_.change_ && tag >= network_.altered_) network_.change_(message);
      network_.inboxes_[to].push_back(std::move(message));
      return {};
    }
    Result<std::optional<ranks::Message>> Poll(const ranks::Placer& placer) override {
      std::optional<DevicePart> place;  // let go of without the lock
      const std::lock_guard lock(network_.mutex_);
      auto& inbox = network_.inboxes_[rank_];
      if (inbox.empty()) return std::optional<ranks::Message>();
      ranks::Message& first = inbox.front();
      if (!place_) place_ = placer(first.from, first.tag, first.bytes.size());
      if (place_ && !std::exchange(first.landed, true)) ++network_.landings_;
      if (place_ && network_.hold_) return std::optional<ranks::Message>();
      if (place_) {
        std::memcpy(place_->address(), first.bytes.data(), first.bytes.size());
        first.bytes.clear();
      }
      place.swap(place_);
      std::optional<ranks::Message> message = std::move(first);
      inbox.pop_front();
      return message;
    }
    [[nodiscard]] bool TakesCuda() const override { return network_.takes_cuda_; }
    [[nodiscard]] uint64_t unsent() const override { return 0; }
    [[nodiscard]] bool moving() const override { return false; }
    Result<void> Close() override { return {}; }
    void Abort(int status) override {
      const std::lock_guard lock(network_.mutex_);
      network_.aborted_ = status;
    }

   private:
    MemoryNetwork& network_;
    const unsigned rank_;
    std::optional<DevicePart> place_;  // of the first message that has come
  };

  const bool takes_cuda_;
  std::mutex mutex_;  // guards all below
  std::vector<std::deque<ranks::Message>> inboxes_;
  std::set<unsigned> lost_;
  int aborted_ = 0;
  int altered_ = 0;
  std::function<void(ranks::Message& message)> change_;
  bool hold_ = false;
  unsigned landings_ = 0;
};

}  // namespace dcpctl::test
