// Errors and findings as lines for a terminal: `FILE:0xOFFSET: error: text`, advice on the next line.
#pragma once

#include <string>

#include "dcpctl/error.h"
#include "dcpctl/finding.h"
#include "report/style.h"

namespace dcpctl::report {

// Each ends with a newline. `root` stands where a finding names no file, and in front of a relative one.
std::string RenderError(const Error& error, const TextStyle& style = {});
std::string RenderFinding(const Finding& finding, const std::string& root, const TextStyle& style = {});
std::string RenderFindings(const Findings& findings, const std::string& root, const TextStyle& style = {});

}  // namespace dcpctl::report
