// What a conversion will write or has written, as text for people.
#pragma once

#include <string>

#include "dcpctl/convert.h"
#include "report/style.h"

namespace dcpctl::report {

// Outputs, bytes and steps of a run that stopped before its first write.
std::string RenderPlan(const PlanSummary& plan, const TextStyle& style = {});

// One line: "out.pt: 12 tensors and 3 objects, 1.4 GiB, written in 1.2 s (1.1 GiB/s)".
std::string RenderConverted(const ConvertReport& report, const std::string& target);

// How many tensors were, or would be, cast: a line. Nothing when no cast was asked for.
std::string RenderCast(const ConvertReport& report);

// What each rank gets, a line each; of more than a screenful only the emptiest and the fullest. Nothing when no layout
// was asked for.
std::string RenderRanks(const ConvertReport& report, const TextStyle& style = {});

}  // namespace dcpctl::report
