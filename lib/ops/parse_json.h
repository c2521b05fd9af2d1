// JSON that somebody else may have written, as a document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "dcpctl/error.h"

namespace dcpctl::ops {

// `expected` says what it should be: "a layout". kCorrupt for what is no JSON, with its place in `file`, for members
// that are there twice, and for more of them or deeper nesting than anything that is read here has.
Result<nlohmann::ordered_json> ParseJson(std::string_view text, const std::string& file, const std::string& expected);

}  // namespace dcpctl::ops
