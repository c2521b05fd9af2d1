#include "base/sha256.h"

// The plain functions, which OpenSSL calls deprecated: the others look for providers and configuration files first.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace dcpctl {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Add(std::span<const std::byte> bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &state_->context);
  return digest;
}

// Not SHA256(), which looks for providers, too.
Sha256Digest Sha256Of(std::string_view bytes) {
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  Sha256Digest digest;
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
  return digest;
}

std::string ToHex(const Sha256Digest& digest) {
  std::string hex;
  for (const std::byte byte : digest) {
    hex += kHexDigits[std::to_integer<size_t>(byte >> 4)];
    hex += kHexDigits[std::to_integer<size_t>(byte & std::byte{0xf})];
  }
  return hex;
}

std::optional<Sha256Digest> DigestFromHex(std::string_view hex) {
  Sha256Digest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const size_t high = kHexDigits.find(hex[2 * i]);
    const size_t low = kHexDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    digest[i] = static_cast<std::byte>(high << 4 | low);
  }
  return digest;
}

}  // namespace dcpctl
