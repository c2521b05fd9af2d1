// Messages through a plug-in for communication.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <string>

#include "plugin/comm.h"
#include "ranks/transport.h"

namespace dcpctl::ranks {

class PluginTransport final : public Transport {
 public:
  // `table` must outlive it.
  explicit PluginTransport(const plugin::CommV1& table) : table_(table) {}

  Result<void> Open() override;
  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }
  Result<void> Send(unsigned to, int tag, std::string bytes) override;
  Result<std::optional<Message>> Poll(const Placer& placer) override;
  [[nodiscard]] bool TakesCuda() const override { return table_.takes_cuda() != 0; }
  [[nodiscard]] uint64_t unsent() const override { return unsent_; }
  [[nodiscard]] bool moving() const override { return !sending_.empty() || !receiving_.empty(); }
  Result<void> Close() override;
  void Abort(int status) override { table_.abort(status); }

 private:
  struct Sending {
    std::string bytes;
    void* transfer = nullptr;
  };
  struct Receiving {
    Message message;
    std::optional<DevicePart> place;  // of the bytes, if not in the message
    void* transfer = nullptr;
    bool done = false;
  };

  Result<bool> IsDone(void* transfer) const;
  Result<void> DropSent();
  Result<void> StartReceiving(const Placer& placer);

  const plugin::CommV1& table_;
  unsigned rank_ = 0;
  unsigned size_ = 1;
  // In both, bytes stay where they are.
  std::deque<Sending> sending_;
  std::list<Receiving> receiving_;  // in the order in which they came
  uint64_t unsent_ = 0;
};

}  // namespace dcpctl::ranks
