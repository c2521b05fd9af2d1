#include <utility>

#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {
namespace {

const char* const kCompatHelp =
    "make it readable by this PyTorch and newer\n"
    "Decides how containers are taken apart and what the metadata's classes are called. By default PyTorch 2.0 and "
    "everything newer can read it.";

class TorchToDcpCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_FILE", source_, "torch.save file");
    AddArgument(app, "DST_DIR", target_, "DCP directory to make");
    AddText(app, "--compat", options_.compat, "VERSION", kCompatHelp)->group("Content");
    AddContentOptions(app, options_);
    AddSelectionGroup(app, options_.selection);
    AddPrefixOptions(app, options_.selection);
    AddOutputGroup(app, options_.run);
    AddRunGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.run.stop = console.stop();
    options_.run.observer = &console.observer();
    auto result = TorchToDcp(source_, target_, options_);
    if (!result) return Fail(std::move(result).error());
    PrintConversion(*result, source_, target_, false, options_.run.dry_run, report_, console);
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

constinit const CommandInfo kTorchToDcp = {
    "torch_to_dcp", "SRC_FILE DST_DIR", "torch.save file -> DCP directory",
    []() -> std::unique_ptr<Command> { return std::make_unique<TorchToDcpCommand>(); }};

}  // namespace dcpctl::cmd
