#include <utility>

#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {
namespace {

const char* const kIntKeysHelp =
    "turn the keys \"0\", \"1\" of optimizer state into integers\n"
    "DCP stores every dict key as text; an optimizer that is not keyed by parameter names needs integers.";
class DcpToTorchCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_DIR", source_, "DCP directory");
    AddArgument(app, "DST_FILE", target_, "torch.save file to write; - is standard output");
    AddFlag(app, "--flat", options_.flat,
            "keep flat keys\nBy default keys are nested as the checkpoint itself records it.")
        ->group("Content");
    AddFlag(app, "--int-keys", options_.int_keys, kIntKeysHelp)->group("Content");
    AddContentOptions(app, options_);
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
    PrintConversion(*result, source_, target_, to_stream, options_.run.dry_run, report_, console);
    return result->left_out > 0 ? kFound : kDone;
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
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
