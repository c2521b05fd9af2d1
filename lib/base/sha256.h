// SHA-256, of bytes that arrive in parts.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dcpctl {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text) { Add(std::as_bytes(std::span(text.data(), text.size()))); }
  // Once, after the last Add.
  [[nodiscard]] Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] Sha256Digest Sha256Of(std::string_view bytes);

// 64 small letters and digits.
[[nodiscard]] std::string ToHex(const Sha256Digest& digest);
// Nothing for any other text than that.
[[nodiscard]] std::optional<Sha256Digest> DigestFromHex(std::string_view hex);

}  // namespace dcpctl
