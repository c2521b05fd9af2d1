#include "report/repair_text.h"

#include "report/style.h"
#include "text/display.h"
#include "text/numbers.h"

namespace dcpctl::report {

std::string RenderRepaired(const RepairReport& report, const std::string& path, const std::string& like) {
  std::string out = text::Printable(path) + ": " + Plural(report.records, "record") + " in " +
                    Plural(report.files, "file") + ", all as in " + text::Printable(like) + "\n";
  out += text::Printable(report.output.string()) + ": " + Plural(report.tensors, "tensor") + " and " +
         Plural(report.objects, "object") + ", " + text::FormatBytes(report.bytes) + "\n";
  return out + (report.written ? "" : "Nothing was written (dry run).\n");
}

}  // namespace dcpctl::report
