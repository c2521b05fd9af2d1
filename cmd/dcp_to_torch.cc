#include <utility>

#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {
namespace {

class DcpToTorchCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_DIR", source_, "DCP directory");
    AddArgument(app, "DST_FILE", target_, "torch.save file to write; - is standard output");
    AddTorchOptions(app, options_);
    AddConversionOptions(app, options_, report_);
  }

  [[nodiscard]] Result<void> Check() const override { return CheckTarget(target_, report_, options_); }

  Result<ExitStatus> Run(Console& console) override {
    return RunConversion(source_, target_, options_, report_, console, DcpToTorch);
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
