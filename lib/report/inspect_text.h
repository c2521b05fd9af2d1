// What is inside a checkpoint, as text for people. Every view begins with the totals; names are escaped.
#pragma once

#include <ostream>
#include <string>

#include "dcpctl/inspect.h"
#include "report/style.h"

namespace dcpctl::report {

// Two lines: what the checkpoint is and who wrote it; how much is in it. More where there is something special.
std::string RenderTotals(const InspectReport& report, const TextStyle& style = {});

// Views may have millions of lines, and go out as they are made.

// One line an entry.
void WriteTable(std::ostream& out, const InspectReport& report, const TextStyle& style = {});
// Containers and what they hold, with totals for each.
void WriteTree(std::ostream& out, const InspectReport& report, const TextStyle& style = {});
// Files by writing rank, and what their names mean.
void WriteFiles(std::ostream& out, const InspectReport& report, const TextStyle& style = {});
// One line a stored part: its box and where it lies.
void WriteChunks(std::ostream& out, const InspectReport& report, const TextStyle& style = {});
// InspectReport::records, one line each.
void WriteRecords(std::ostream& out, const InspectReport& report, const TextStyle& style = {});
// InspectReport::entry in full.
void WriteEntry(std::ostream& out, const InspectReport& report, const TextStyle& style = {});

// One flat key a line, escaped or as it is.
void WriteKeys(std::ostream& out, const InspectReport& report, bool escaped);

}  // namespace dcpctl::report
