// Any bytes as a pickle: what can be read can be printed and written, and what was written is the same value.
#include "dcpctl/pickle.h"

#include "base/sha256.h"
#include "fuzz/targets.h"
#include "pickle/canonical.h"
#include "pickle/policy.h"

namespace dcpctl::fuzz {
namespace {

using pickle::Document;
using pickle::Value;

// Nothing for values that have none: such as contain themselves in too many ways.
std::optional<Sha256Digest> DigestOf(const Document& document) {
  const auto id = [](Value value) -> Result<Sha256Digest> {
    return Sha256Of(pickle::Print(value, {.max_bytes = 400}));
  };
  const auto digest = pickle::CanonicalDigest(document.root(), id, SmallLimits());
  return digest ? std::optional(*digest) : std::nullopt;
}

void Rewrite(const Document& document, const std::optional<Sha256Digest>& digest, int protocol) {
  const auto written = pickle::WritePickle(document.root(), {.protocol = protocol, .limits = SmallLimits()});
  if (!written) {
    Require(written.error().kind() != ErrorKind::kInternal, "writing fails as it may", written.error().ToString());
    return;
  }
  const auto again = pickle::ReadPickle(std::as_bytes(std::span(*written)), {.file = "written"});
  Require(again.has_value(), "what was written can be read", again ? "" : again.error().ToString());
  Require(digest == DigestOf(*again), "what was written is the same value",
          pickle::Print(again->root(), {.max_bytes = 400}));
  const auto twice = pickle::WritePickle(again->root(), {.protocol = protocol, .limits = SmallLimits()});
  Require(twice.has_value() && *twice == *written, "equal graphs give equal bytes");
}

}  // namespace

void FuzzPickle(Bytes input) {
  const Limits limits = SmallLimits();
  uint64_t consumed = 0;
  const auto document = pickle::ReadPickle(input, {.file = "input", .limits = limits}, &consumed);
  if (!document) {
    Require(document.error().kind() != ErrorKind::kInternal, "reading fails as it may", document.error().ToString());
    return;
  }
  Require(consumed > 0 && consumed <= input.size(), "a pickle ends within the input");
  // See reader.cc: nodes take at most so much for each byte that is allowed, and text is not copied.
  Require(document->memory_bytes() <= 4 * limits.pickle_bytes, "memory stays within the limits",
          std::to_string(document->memory_bytes()));
  (void)pickle::ReadPickle(input, {.file = "input", .allow_persistent_ids = false, .limits = limits}).has_value();

  constexpr size_t kMostText = 4096;
  const std::string text = pickle::Print(document->root(), {.max_bytes = kMostText});
  Require(text.size() <= kMostText + 16, "text is as long as it may be", std::to_string(text.size()));
  Require(!pickle::TypeName(document->root()).empty(), "every value has a type");
  (void)pickle::ForeignNames(*document).size();
  (void)pickle::CheckGlobals(*document, "input").has_value();
  const auto digest = DigestOf(*document);
  Rewrite(*document, digest, 2);
  Rewrite(*document, digest, 4);
}

}  // namespace dcpctl::fuzz
