#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace dcpctl {
namespace {

// FIPS 180-2, appendix B.
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(ToHex(Sha256Of("abc")), kOfAbc);
  EXPECT_EQ(ToHex(Sha256Of("")), kOfNothing);
  EXPECT_EQ(ToHex(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, DoesNotDependOnTheParts) {
  const std::string text(1000, 'x');
  for (const size_t step : {size_t{1}, size_t{63}, size_t{64}, size_t{999}}) {
    Sha256 sum;
    for (size_t pos = 0; pos < text.size(); pos += step) sum.Add(std::string_view(text).substr(pos, step));
    Sha256 moved = std::move(sum);
    EXPECT_EQ(moved.Finish(), Sha256Of(text)) << step;
  }
}

TEST(Sha256, TextIsReadBack) {
  EXPECT_EQ(DigestFromHex(kOfAbc), Sha256Of("abc"));
  const std::string text = kOfAbc;
  EXPECT_FALSE(DigestFromHex(text.substr(1)));
  EXPECT_FALSE(DigestFromHex(text + "0"));
  EXPECT_FALSE(DigestFromHex("G" + text.substr(1)));
  EXPECT_FALSE(DigestFromHex("B" + text.substr(1)));  // one spelling only
  EXPECT_FALSE(DigestFromHex(""));
}

}  // namespace
}  // namespace dcpctl
