#include "cmd/conversion.h"

#include <utility>

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

const char* const kDTypeHelp =
    "cast floating-point tensors to D\n"
    "D is a type as PyTorch calls it: float32, bfloat16, float16, float64, float8_e4m3fn, float8_e5m2. Values are "
    "rounded as Tensor.to does. Tensors of other types, those that have type D, and tensors inside of objects stay as "
    "they are. Needs the tensor plug-in; see dcpctl(1).";

const char* const kCompatHelp =
    "make it readable by this PyTorch and newer\n"
    "Decides how containers are taken apart and what the metadata's classes are called. By default PyTorch 2.0 and "
    "everything newer can read it, and a DCP directory keeps its entries.";
const char* const kZstdHelp =
    "compress each item (LEVEL 1 to 19, default 3)\n"
    "PyTorch 2.7 and newer, with the zstandard package, read such checkpoints.";
const char* const kIntKeysHelp =
    "turn the keys \"0\", \"1\" of optimizer state into integers\n"
    "DCP stores every dict key as text; an optimizer that is not keyed by parameter names needs integers.";

// `to_stream`: standard output holds the result itself, so its report goes to standard error.
void Print(const ConvertReport& result, const std::string& source, const std::string& target, bool to_stream,
           bool dry_run, const ReportOptions& report, Console& console) {
  if (!report.json) console.Report(result.plan.findings, source);
  if (report.json && dry_run) {
    report::WritePlanJson(result, console.out());
  } else if (report.json) {
    report::WriteConvertJson(result, source, target, console.out());
  } else if (dry_run) {
    console.out() << report::RenderRanks(result, console.out_style()) << report::RenderCast(result)
                  << report::RenderPlan(result.plan, console.out_style());
  } else if (to_stream) {
    console.Say(report::RenderConverted(result, target) + report::RenderCast(result));
  } else if (!report.quiet) {
    console.out() << report::RenderConverted(result, target) << report::RenderCast(result)
                  << report::RenderRanks(result, console.out_style());
  }
  console.out().flush();
}

}  // namespace

void AddTorchOptions(CLI::App& app, ConvertOptions& options) {
  AddFlag(app, "--flat", options.flat,
          "keep flat keys\nBy default keys are nested as the checkpoint itself records it.")
      ->group("Content");
  AddFlag(app, "--int-keys", options.int_keys, kIntKeysHelp)->group("Content");
}

void AddDcpOptions(CLI::App& app, ConvertOptions& options) {
  AddText(app, "--compat", options.compat, "VERSION", kCompatHelp)->group("Content");
  AddOptionalNumber(app, "--zstd", options.zstd_level, kLeastZstdLevel, kMostZstdLevel, kDefaultZstdLevel, "LEVEL",
                    kZstdHelp)
      ->group("Content");
}

void AddConversionOptions(CLI::App& app, ConvertOptions& options, ReportOptions& report) {
  AddDType(app, "--dtype", options.dtype, kDTypeHelp)->group("Content");
  AddFlag(app, "--skip-damaged", options.skip_damaged, kSkipHelp)->group("Content");
  AddChoice<ObjectPolicy>(app, "--objects", options.objects,
                          {{"keep", ObjectPolicy::kKeep}, {"drop", ObjectPolicy::kDrop}}, kObjectsHelp)
      ->group("Content");
  AddList(app, "--allow-global", options.allow_globals, "MODULE.NAME", kGlobalHelp)->group("Content");
  AddSelectionGroup(app, options.selection);
  AddPrefixOptions(app, options.selection);
  AddOutputGroup(app, options.run);
  AddRunGroup(app, options.run);
  AddReportGroup(app, report);
}

Result<void> CheckTarget(const std::string& target, const ReportOptions& report, const ConvertOptions& options) {
  if (target != "-" || !report.json || options.run.dry_run) return {};
  return Fail(Error(ErrorKind::kUsage, "--json and - both want standard output")
                  .Advise("give a file name, or leave out --json"));
}

Result<ExitStatus> RunConversion(const std::string& source, const std::string& target, ConvertOptions options,
                                 const ReportOptions& report, Console& console, const Conversion& convert) {
  const bool to_stream = target == "-" && !options.run.dry_run;
  if (to_stream && console.out_is_terminal()) {
    return Fail(Error(ErrorKind::kUsage, "- would write a binary file to a terminal").Advise("redirect it: > FILE"));
  }
  options.run.stop = console.stop();
  options.run.observer = &console.observer();
  auto result = convert(source, target, options);
  if (!result) return Fail(std::move(result).error());
  Print(*result, source, target, to_stream, options.run.dry_run, report, console);
  return result->left_out > 0 ? kFound : kDone;
}

}  // namespace dcpctl::cmd
