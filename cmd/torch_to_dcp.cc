#include <utility>

#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/layout_options.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {
namespace {

class TorchToDcpCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_FILE", source_, "torch.save file");
    AddArgument(app, "DST_DIR", target_, "DCP directory to make");
    AddLayoutOptions(app, layout_);
    AddDcpOptions(app, options_);
    AddConversionOptions(app, options_, report_);
  }

  [[nodiscard]] Result<void> Check() const override { return CheckLayout(layout_); }

  Result<ExitStatus> Run(Console& console) override {
    options_.layout = LayoutOf(layout_);
    return RunConversion(source_, target_, options_, report_, console, TorchToDcp);
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  std::string source_;
  std::string target_;
  LayoutArguments layout_;
  ConvertOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kTorchToDcp = {
    "torch_to_dcp", "SRC_FILE DST_DIR", "torch.save file -> DCP directory",
    []() -> std::unique_ptr<Command> { return std::make_unique<TorchToDcpCommand>(); }};

}  // namespace dcpctl::cmd
