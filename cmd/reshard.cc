#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/layout_options.h"
#include "cmd/options.h"
#include "dcpctl/convert.h"

namespace dcpctl::cmd {
namespace {

class ReshardCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_DIR", source_, "DCP directory");
    AddArgument(app, "DST_DIR", target_, "DCP directory to make");
    AddLayoutOptions(app, layout_);
    AddDcpOptions(app, options_);
    AddConversionOptions(app, options_, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    DCPCTL_TRY(CheckLayout(layout_));
    if (HasLayout(layout_)) return {};
    return Fail(Error(ErrorKind::kUsage, "no layout is given")
                    .Advise("say --world-size N, --mesh NAME=SIZE,..., --layout FILE or --like DIR"));
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.layout = LayoutOf(layout_);
    return RunConversion(source_, target_, options_, report_, console, Reshard);
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

constinit const CommandInfo kReshard = {
    "reshard", "SRC_DIR DST_DIR", "DCP -> DCP for another world size or mesh",
    []() -> std::unique_ptr<Command> { return std::make_unique<ReshardCommand>(); }};

}  // namespace dcpctl::cmd
