// Whether a checkpoint is whole, as text for people: what it is and what was looked at, what was found, the verdict.
#pragma once

#include <string>

#include "dcpctl/verify.h"
#include "report/style.h"

namespace dcpctl::report {

struct VerifyTextOptions {
  bool all = false;          // every finding; otherwise some of each id and a count of the rest
  bool only_errors = false;  // nothing but findings that are errors
};

std::string RenderVerify(const VerifyReport& report, const VerifyTextOptions& options, const TextStyle& style = {});

}  // namespace dcpctl::report
