// What came of making metadata anew, as text for people.
#pragma once

#include <string>

#include "dcpctl/repair.h"

namespace dcpctl::report {

// Of a report that fits: what does not fit are its findings.
std::string RenderRepaired(const RepairReport& report, const std::string& path, const std::string& like);

}  // namespace dcpctl::report
