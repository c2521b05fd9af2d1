// Results as JSON documents with a "schema" field; within a schema's number fields are added, never renamed.
// Integers are exact.
#pragma once

#include <ostream>
#include <string>

#include "dcpctl/compare.h"
#include "dcpctl/convert.h"
#include "dcpctl/inspect.h"
#include "dcpctl/repair.h"
#include "dcpctl/verify.h"

namespace dcpctl::report {

// "dcpctl.inspect/1". With an entry asked for, `entries` holds that one only, and its value.
void WriteInspectJson(const InspectReport& report, std::ostream& out);

// "dcpctl.verify/1".
void WriteVerifyJson(const VerifyReport& report, std::ostream& out);

// "dcpctl.compare/1".
void WriteCompareJson(const CompareReport& report, std::ostream& out);

// "dcpctl.repair/1".
void WriteRepairJson(const RepairReport& report, const std::string& path, const std::string& like, std::ostream& out);

// "dcpctl.plan/1": what a dry run would write.
void WritePlanJson(const ConvertReport& report, std::ostream& out);

// "dcpctl.convert/1": what a run has written.
void WriteConvertJson(const ConvertReport& report, const std::string& source, const std::string& target,
                      std::ostream& out);

}  // namespace dcpctl::report
