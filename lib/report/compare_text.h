// Whether two checkpoints hold the same, as text for people: a line for each difference, and the verdict.
#pragma once

#include <string>

#include "dcpctl/compare.h"
#include "report/style.h"

namespace dcpctl::report {

struct CompareTextOptions {
  bool all = false;  // every difference; otherwise the first of them and a count of the rest
};

std::string RenderCompare(const CompareReport& report, const CompareTextOptions& options, const TextStyle& style = {});

// "3 of 96 elements differ, the first is [0, 5], by at most 0.25": a difference without its key.
std::string DescribeDifference(const Difference& difference);

}  // namespace dcpctl::report
