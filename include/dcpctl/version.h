// The version of this library and of the program.
#pragma once

#include <string_view>

namespace dcpctl {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace dcpctl
