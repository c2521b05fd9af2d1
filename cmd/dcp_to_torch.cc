#include <utility>

#include "cmd/command.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"
#include "report/convert_text.h"
#include "report/json.h"

namespace dcpctl::cmd {
namespace {

const char* const kIntKeysHelp =
    "turn the keys \"0\", \"1\" of optimizer state into integers\n"
    "DCP stores every dict key as text; an optimizer that is not keyed by parameter names needs integers.";
const char* const kSkipHelp =
    "leave out entries that cannot be read\n"
    "Each is reported and the exit status is 1. Without this option damage stops the conversion.";
const char* const kObjectsHelp =
    "what happens to entries that are not tensors (default keep)\n"
    "They are carried over as data and never run.";
const char* const kGlobalHelp =
    "carry over objects that name MODULE.NAME\n"
    "Names such as os.system are refused by default: loading the result would call them. May be given again.";

class DcpToTorchCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_DIR", source_, "DCP directory");
    AddArgument(app, "DST_FILE", target_, "torch.save file to write; - is standard output");
    AddFlag(app, "--flat", options_.flat,
            "keep flat keys\nBy default keys are nested as the checkpoint itself records it.")
        ->group("Content");
    AddFlag(app, "--int-keys", options_.int_keys, kIntKeysHelp)->group("Content");
    AddFlag(app, "--skip-damaged", options_.skip_damaged, kSkipHelp)->group("Content");
    AddChoice<ObjectPolicy>(app, "--objects", options_.objects,
                            {{"keep", ObjectPolicy::kKeep}, {"drop", ObjectPolicy::kDrop}}, kObjectsHelp)
        ->group("Content");
    AddList(app, "--allow-global", options_.allow_globals, "MODULE.NAME", kGlobalHelp)->group("Content");
    AddSelectionGroup(app, options_.selection);
    AddPrefixOptions(app, options_.selection);
    AddOutputGroup(app, options_.run);
    AddRunGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    if (target_ != "-" || !report_.json || options_.run.dry_run) return {};
    return Fail(Error(ErrorKind::kUsage, "--json and - both want standard output")
                    .Advise("give a file name, or leave out --json"));
  }

  Result<ExitStatus> Run(Console& console) override {
    const bool to_stream = target_ == "-" && !options_.run.dry_run;
    if (to_stream && console.out_is_terminal()) {
      return Fail(
          Error(ErrorKind::kUsage, "- would write a torch.save file to a terminal").Advise("redirect it: > FILE"));
    }
    options_.run.stop = console.stop();
    options_.run.observer = &console.observer();
    auto result = DcpToTorch(source_, target_, options_);
    if (!result) return Fail(std::move(result).error());
    Print(*result, to_stream, console);
    return result->left_out > 0 ? kFound : kDone;
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  void Print(const ConvertReport& result, bool to_stream, Console& console) const {
    if (!report_.json) console.Report(result.plan.findings, source_);
    if (report_.json && options_.run.dry_run) {
      report::WritePlanJson(result.plan, console.out());
    } else if (report_.json) {
      report::WriteConvertJson(result, source_, target_, console.out());
    } else if (options_.run.dry_run) {
      console.out() << report::RenderPlan(result.plan, console.out_style());
    } else if (to_stream) {
      console.Say(report::RenderConverted(result, target_));
    } else if (!report_.quiet) {
      console.out() << report::RenderConverted(result, target_);
    }
    console.out().flush();
  }

  std::string source_;
  std::string target_;
  ConvertOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kDcpToTorch = {
    "dcp_to_torch", "SRC_DIR DST_FILE|-", "DCP directory -> one torch.save file",
    []() -> std::unique_ptr<Command> { return std::make_unique<DcpToTorchCommand>(); }};

}  // namespace dcpctl::cmd
