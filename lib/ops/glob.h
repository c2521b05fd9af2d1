// Matching one component of a key against a pattern. Pure, and the same in every locale: unlike fnmatch(3) it
// takes UTF-8 for characters and any byte for text.
#pragma once

#include <string_view>

namespace dcpctl::ops {

// `*` any characters, `?` one, `[abc]` `[a-z]` `[!a]` one of (not of) these, `\` the next one as it is; a `[`
// that is never closed stands for itself. All of `text` has to match.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace dcpctl::ops
