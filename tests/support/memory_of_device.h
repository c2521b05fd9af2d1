// Memory of a device that is the program's own after all, so that tests can look at it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_memory.h"

namespace dcpctl::test {

class MemoryOfDevice final : public DeviceMemory {
 public:
  explicit MemoryOfDevice(size_t bytes, MemoryKind kind = MemoryKind::kOrdinary) : bytes_(bytes), kind_(kind) {}

  [[nodiscard]] MemoryKind kind() const override { return kind_; }
  [[nodiscard]] std::byte* address() const override { return bytes_.data(); }
  Result<void> MakeCurrent() const override {
    ++made_current_;
    return {};
  }

  [[nodiscard]] std::string Text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};  // zero bytes where nothing has come
  }
  [[nodiscard]] unsigned made_current() const { return made_current_; }

 private:
  mutable std::vector<std::byte> bytes_;
  const MemoryKind kind_;
  mutable unsigned made_current_ = 0;
};

}  // namespace dcpctl::test
