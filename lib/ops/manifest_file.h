// A manifest as a JSON document, "dcpctl.manifest/1". Pure: works on text alone.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/error.h"
#include "ops/manifest.h"

namespace dcpctl::ops {

// Equal manifests give equal text. It ends in a digest of itself.
std::string RenderManifest(const Manifest& manifest);

// Errors: kCorrupt for text that is no such document, or one whose own digest is not right: it was edited or damaged.
// Members that are not known are allowed, as far as the digest has them.
Result<Manifest> ParseManifest(std::string_view text, const std::string& file);

}  // namespace dcpctl::ops
