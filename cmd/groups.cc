#include "cmd/groups.h"

#include <string>
#include <utility>
#include <vector>

#include "cmd/options.h"

namespace dcpctl::cmd {
namespace {

constexpr unsigned kMostJobs = 1024;

const char* const kSelectHelp =
    "only entries that GLOB matches\n"
    "GLOB is compared with a key by whole dotted components: model means that key and all below it, not model_ema. "
    "A component may hold *, ? and [abc]; the component ** stands for any number of components. "
    "May be given again: an entry is taken when one GLOB matches it. A GLOB that matches nothing is an error.";
const char* const kExcludeHelp =
    "no entries that GLOB matches\n"
    "Wins over --select. May be given again.";
const char* const kStripHelp =
    "take P off the front of keys that begin with it\n"
    "P is one or more whole components, taken off once. Two keys that become one are an error.";
const char* const kRenameHelp =
    "call the components FROM of keys TO\n"
    "FROM is one or more whole components, as they are, and is replaced wherever it stands: _orig_mod= takes every "
    "_orig_mod out. With ^ in front it is replaced only at the front of keys. May be given again; done in order, after "
    "--strip-prefix. A FROM that no key has, and two keys that become one, are errors.";
const char* const kAddHelp =
    "put P in front of all keys\n"
    "Each component of P becomes a container around the result. Done after --strip-prefix and --rename.";
const char* const kDryRunHelp =
    "do everything up to the first write and print the plan\n"
    "The source is opened, checked and planned as in a real run.";
const char* const kJobsHelp = "work on N things at a time (0: one per core)";
const char* const kMemoryHelp =
    "budget for buffers (default 256MiB)\n"
    "A number with an optional unit B, K, M, G or T, powers of 1024.";
const char* const kDeviceHelp = "where data is staged (default cpu)";
const char* const kReflinkHelp =
    "share bytes with the source where the file system can (default auto)\n"
    "With always it is an error when it cannot.";
const char* const kVerboseHelp =
    "say what is done; twice: with times\n"
    "Goes to standard error.";
const char* const kProgressHelp =
    "show progress (default auto: on a terminal)\n"
    "Goes to standard error: one line that is drawn again, or with always and without a terminal a line a second.";
const char* const kColorHelp =
    "use colours (default auto: on a terminal)\n"
    "With auto a NO_COLOR in the environment, set to anything, turns them off.";

std::vector<std::pair<std::string, When>> WhenChoices() {
  return {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}};
}

}  // namespace

void AddSelectionGroup(CLI::App& app, Selection& selection) {
  AddList(app, "--select", selection.select, "GLOB", kSelectHelp)->group("Selection");
  AddList(app, "--exclude", selection.exclude, "GLOB", kExcludeHelp)->group("Selection");
}

void AddPrefixOptions(CLI::App& app, Selection& selection) {
  AddText(app, "--strip-prefix", selection.strip_prefix, "P", kStripHelp)->group("Selection");
  AddRenamings(app, "--rename", selection.rename, kRenameHelp)->group("Selection");
  AddText(app, "--add-prefix", selection.add_prefix, "P", kAddHelp)->group("Selection");
}

void AddOutputGroup(CLI::App& app, RunOptions& run) {
  AddFlag(app, "--force", run.force, "replace an existing output")->group("Output");
  AddFlag(app, "--dry-run", run.dry_run, kDryRunHelp)->group("Output");
}

void AddReadGroup(CLI::App& app, RunOptions& run) {
  AddNumber(app, "-j,--jobs", run.jobs, kMostJobs, kJobsHelp)->group("Run");
  AddSize(app, "--memory", run.memory_bytes, kMemoryHelp)->group("Run");
}

void AddRunGroup(CLI::App& app, RunOptions& run) {
  AddReadGroup(app, run);
  AddDevice(app, "--device", run.device, kDeviceHelp)->group("Run");
  AddChoice<Reflink>(app, "--reflink", run.reflink,
                     {{"auto", Reflink::kAuto}, {"always", Reflink::kAlways}, {"never", Reflink::kNever}}, kReflinkHelp)
      ->group("Run");
}

void AddReportGroup(CLI::App& app, ReportOptions& report) {
  AddFlag(app, "--json", report.json, "print one JSON document instead of text")->group("Report");
  AddFlag(app, "-q,--quiet", report.quiet, "print errors only")->group("Report");
  AddCounter(app, "-v,--verbose", report.verbose, kVerboseHelp)->group("Report");
  AddChoice<When>(app, "--progress", report.progress, WhenChoices(), kProgressHelp)->group("Report");
  AddChoice<When>(app, "--color", report.color, WhenChoices(), kColorHelp)->group("Report");
  app.set_help_flag("-h,--help", "print this help")->group("Report");
}

}  // namespace dcpctl::cmd
