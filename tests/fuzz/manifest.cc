// Any bytes as a manifest: what can be read can be written, as the same text in the end.
#include "dcpctl/error.h"
#include "fuzz/targets.h"
#include "ops/manifest_file.h"
#include "support/result.h"

namespace dcpctl::fuzz {
namespace {

// A manifest ends in a digest of itself, which no fuzzer would ever get right: this puts the right one, which the
// message about a wrong one has, in its place.
std::string WithItsDigest(std::string text) {
  constexpr std::string_view kNoDigest = "0000000000000000000000000000000000000000000000000000000000000000";
  const size_t place = text.find(kNoDigest);
  const auto manifest = ops::ParseManifest(text, "input");
  if (manifest || place == std::string::npos) return text;
  constexpr std::string_view kBefore = ", expected ";
  const std::string& message = manifest.error().message();
  const size_t expected = message.find(kBefore);
  if (expected == std::string::npos) return text;
  return text.replace(place, kNoDigest.size(), message.substr(expected + kBefore.size(), kNoDigest.size()));
}

}  // namespace

void FuzzManifest(Bytes input) {
  const auto manifest = ops::ParseManifest(WithItsDigest(test::TextOf(input)), "input");
  if (!manifest) return;
  const std::string text = ops::RenderManifest(*manifest);
  const auto again = ops::ParseManifest(text, "input");
  Require(again.has_value() && ops::RenderManifest(*again) == text, "a manifest can be written down");
}

}  // namespace dcpctl::fuzz
