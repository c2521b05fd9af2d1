// A plan as bytes, for the processes that carry it out together: one of them makes it.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/error.h"
#include "dcpctl/plan.h"

namespace dcpctl {

// No format of any file: both ends are the same build.
[[nodiscard]] std::string EncodePlan(const Plan& plan);
[[nodiscard]] Result<Plan> DecodePlan(std::string_view bytes);

}  // namespace dcpctl
