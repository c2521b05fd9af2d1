#include "cmd/conversion.h"

#include "cmd/options.h"
#include "report/convert_text.h"
#include "report/json.h"

namespace dcpctl::cmd {
namespace {

const char* const kSkipHelp =
    "leave out entries that cannot be read\n"
    "Each is reported and the exit status is 1. Without this option damage stops the conversion.";
const char* const kObjectsHelp =
    "what happens to entries that are not tensors (default keep)\n"
    "They are carried over as data and never run.";
const char* const kGlobalHelp =
    "carry over objects that name MODULE.NAME\n"
    "Names such as os.system are refused by default: loading the result would call them. May be given again.";

}  // namespace

void AddContentOptions(CLI::App& app, ConvertOptions& options) {
  AddFlag(app, "--skip-damaged", options.skip_damaged, kSkipHelp)->group("Content");
  AddChoice<ObjectPolicy>(app, "--objects", options.objects,
                          {{"keep", ObjectPolicy::kKeep}, {"drop", ObjectPolicy::kDrop}}, kObjectsHelp)
      ->group("Content");
  AddList(app, "--allow-global", options.allow_globals, "MODULE.NAME", kGlobalHelp)->group("Content");
}

void PrintConversion(const ConvertReport& result, const std::string& source, const std::string& target, bool to_stream,
                     bool dry_run, const ReportOptions& report, Console& console) {
  if (!report.json) console.Report(result.plan.findings, source);
  if (report.json && dry_run) {
    report::WritePlanJson(result.plan, console.out());
  } else if (report.json) {
    report::WriteConvertJson(result, source, target, console.out());
  } else if (dry_run) {
    console.out() << report::RenderPlan(result.plan, console.out_style());
  } else if (to_stream) {
    console.Say(report::RenderConverted(result, target));
  } else if (!report.quiet) {
    console.out() << report::RenderConverted(result, target);
  }
  console.out().flush();
}

}  // namespace dcpctl::cmd
