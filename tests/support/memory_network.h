// Processes that are threads: a transport between the ranks of a test, which can lose one of them.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ranks/transport.h"

namespace dcpctl::test {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(unsigned size) : inboxes_(size) {}

  // Must not outlive the network.
  std::unique_ptr<ranks::Transport> Endpoint(unsigned rank) { return std::make_unique<End>(*this, rank); }
  // From now on nothing reaches it or comes from it.
  void Lose(unsigned rank) {
    const std::lock_guard lock(mutex_);
    lost_.insert(rank);
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
      network_.inboxes_[to].push_back({.from = rank_, .tag = tag, .bytes = std::move(bytes)});
      return {};
    }
    Result<std::optional<ranks::Message>> Poll() override {
      const std::lock_guard lock(network_.mutex_);
      auto& inbox = network_.inboxes_[rank_];
      if (inbox.empty()) return std::optional<ranks::Message>();
      std::optional<ranks::Message> message = std::move(inbox.front());
      inbox.pop_front();
      return message;
    }
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
  };

  std::mutex mutex_;  // guards all below
  std::vector<std::deque<ranks::Message>> inboxes_;
  std::set<unsigned> lost_;
  int aborted_ = 0;
};

}  // namespace dcpctl::test
