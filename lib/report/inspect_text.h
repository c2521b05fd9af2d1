// What is inside a checkpoint, as text for people. Every view begins with the totals; names are escaped.
#pragma once

#include <string>

#include "dcpctl/inspect.h"
#include "report/style.h"

namespace dcpctl::report {

// Two lines: what the checkpoint is and who wrote it; how much is in it. More where there is something special.
std::string RenderTotals(const InspectReport& report, const TextStyle& style = {});

// One line an entry.
std::string RenderTable(const InspectReport& report, const TextStyle& style = {});
// Containers and what they hold, with totals for each.
std::string RenderTree(const InspectReport& report, const TextStyle& style = {});
// Files by writing rank, and what their names mean.
std::string RenderFiles(const InspectReport& report, const TextStyle& style = {});
// One line a stored part: its box and where it lies.
std::string RenderChunks(const InspectReport& report, const TextStyle& style = {});
// InspectReport::records, one line each.
std::string RenderRecords(const InspectReport& report, const TextStyle& style = {});
// InspectReport::entry in full.
std::string RenderEntry(const InspectReport& report, const TextStyle& style = {});

// One flat key a line, escaped or as it is.
std::string RenderKeys(const InspectReport& report, bool escaped);

}  // namespace dcpctl::report
