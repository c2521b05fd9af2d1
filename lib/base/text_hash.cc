#include "base/text_hash.h"

#include <bit>
#include <random>

namespace dcpctl {
namespace {

uint64_t Number(char character, int place) { return uint64_t{static_cast<unsigned char>(character)} << (8 * place); }

// Eight characters as a number, the first one lowest. Written out, compilers make one load of it.
uint64_t Word(const char* at) {
  return Number(at[0], 0) | Number(at[1], 1) | Number(at[2], 2) | Number(at[3], 3) | Number(at[4], 4) |
         Number(at[5], 5) | Number(at[6], 6) | Number(at[7], 7);
}

class SipState {
 public:
  explicit SipState(HashSecret secret)
      : a_(secret.low ^ 0x736f6d6570736575),
        b_(secret.high ^ 0x646f72616e646f6d),
        c_(secret.low ^ 0x6c7967656e657261),
        d_(secret.high ^ 0x7465646279746573) {}

  void Add(uint64_t word) {
    d_ ^= word;
    Round();
    a_ ^= word;
  }

  uint64_t Finish() {
    c_ ^= 0xff;
    for (int i = 0; i < 3; ++i) Round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void Round() {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    a_ += d_;
    c_ += b_;
    d_ = std::rotl(d_, 21) ^ a_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }

  uint64_t a_;
  uint64_t b_;
  uint64_t c_;
  uint64_t d_;
};

HashSecret DrawSecret() {
  std::random_device device;
  const auto draw = [&] { return uint64_t{device()} << 32 | device(); };
  return {.low = draw(), .high = draw()};
}

}  // namespace

uint64_t SipHash(std::string_view text, HashSecret secret) {
  constexpr size_t kWord = sizeof(uint64_t);
  SipState state(secret);
  uint64_t last = uint64_t{text.size()} << 56;
  for (; text.size() >= kWord; text.remove_prefix(kWord)) state.Add(Word(text.data()));
  for (size_t i = 0; i < text.size(); ++i) last |= Number(text[i], static_cast<int>(i));
  state.Add(last);
  return state.Finish();
}

size_t TextHash::operator()(std::string_view text) const {
  static const HashSecret secret = DrawSecret();
  return SipHash(text, secret);
}

}  // namespace dcpctl
